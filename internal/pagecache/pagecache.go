//go:build linux

// Package pagecache tells what of a file is in memory, so that whoever must not wait for a
// disk can leave the rest to others.
package pagecache

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

var pageBytes = int64(os.Getpagesize())

// Holds tells whether n > 0 bytes of a file from off on are in memory, all of them, at the
// moment. It is false where the kernel does not say: before Linux 6.5, and of files that are
// somebody else's.
func Holds(f *os.File, off int64, n int) bool {
	var st unix.Cachestat_t
	err := unix.Cachestat(uint(f.Fd()), &unix.CachestatRange{Off: uint64(off), Len: uint64(n)}, &st, 0)
	runtime.KeepAlive(f)
	return err == nil && int64(st.Cache) >= (off+int64(n)-1)/pageBytes-off/pageBytes+1
}
