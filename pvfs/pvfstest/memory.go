package pvfstest

import (
	"os"
	"testing"
)

// memory is where Linux has a file system without a disk.
const memory = "/dev/shm"

// MemoryDir is a folder for stores that need not be on a disk: nothing waits there when files are synced. It goes away with
// the test. Where there is no such file system it is a temporary folder like any other.
func MemoryDir(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp(memory, "viaduct-pvfstest-")
	if err != nil {
		return tb.TempDir()
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("pvfstest: %v", err)
		}
	})
	return dir
}
