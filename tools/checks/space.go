package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// How many bytes a run needs in the folder for temporary files: go compiles and links there, and servers of tests keep
// their files there. A run with an empty build cache was seen to need half of that, and repeated rounds keep 2.4 GiB of
// test binaries besides.
const (
	spaceMin      = 1 << 30
	flakeSpaceMin = 4 << 30
)

// checkSpace returns an error if one of the folders for temporary files has less than least bytes free.
func checkSpace(least uint64) error {
	folders := map[string]string{"TMPDIR": os.TempDir()}
	if dir := os.Getenv("GOTMPDIR"); dir != "" {
		folders["GOTMPDIR"] = dir
	}
	for variable, dir := range folders {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err != nil {
			return fmt.Errorf("checks: %s: %w: set %s to a folder that exists", dir, err, variable)
		}
		if free := st.Bavail * uint64(st.Bsize); free < least {
			return fmt.Errorf("checks: %s has %d MiB free, and the tests need up to %d MiB there: set %s to a folder with more room", dir, free>>20, least>>20, variable)
		}
	}
	return nil
}
