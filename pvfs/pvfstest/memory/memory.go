// Package memory has folders for the stores of tests that need no disk.
package memory

import (
	"os"
	"testing"
)

// place is where Linux has a file system without a disk.
const place = "/dev/shm"

// Dir is a folder for stores that need not be on a disk: nothing waits there when files are synced. It goes away with
// the test. Where there is no such file system it is a temporary folder like any other.
func Dir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp(place, "viaduct-pvfstest-")
	if err != nil {
		return tb.TempDir()
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("memory: %v", err)
		}
	})
	return dir
}
