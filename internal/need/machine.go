package need

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// Machine is a digest of what decides which needs are met: programs, Debian's packages, the user, the
// processors, the kernel, and devices.
func Machine() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		path, _ := find(name) // "": it is not installed
		fmt.Fprintln(h, name, path)
	}
	if info, err := os.Stat("/var/lib/dpkg/status"); err == nil {
		fmt.Fprintln(h, info.ModTime())
	}
	for _, file := range []string{"/dev/fuse", "/dev/ptmx", "/proc/net/if_inet6", "/proc/self/ns/net"} {
		_, err := os.Stat(file)
		fmt.Fprintln(h, file, err)
	}
	var kernel unix.Utsname
	_ = unix.Uname(&kernel) // it cannot fail
	fmt.Fprintln(h, os.Geteuid(), runtime.NumCPU(), unix.ByteSliceToString(kernel.Release[:]))
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}
