//go:build linux

// Package pagecache reports which parts of a file are in memory, so that a caller that must
// not wait for a disk can leave the other parts to other goroutines.
package pagecache

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

var pageBytes = int64(os.Getpagesize())

// Holds reports whether all of n > 0 bytes of a file from off on are in memory at the
// moment. It is false if the kernel does not tell: before Linux 6.5, and for files of other
// users.
func Holds(f *os.File, off int64, n int) bool {
	var st unix.Cachestat_t
	err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{Off: uint64(off), Len: uint64(n)}, &st, 0)
	runtime.KeepAlive(f)
	return err == nil && int64(st.Cache) >= (off+int64(n)-1)/pageBytes-off/pageBytes+1
}
