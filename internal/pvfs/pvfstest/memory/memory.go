// Package memory has folders for the stores of tests that need no disk.
package memory

import (
	"os"
	"testing"
)

// place is a file system of Linux without a disk.
const place = "/dev/shm"

// Dir is a folder for stores that need no disk: syncs do not wait there. It is removed with the test. Without such a file system
// it is an ordinary temporary folder.
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
