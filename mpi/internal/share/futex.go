package share

import (
	"math"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel's operations on futexes that processes share.
const (
	futexWait = 0
	futexWake = 1
)

// sleepMax is how long a process sleeps at most before it looks at the lock again: a process that
// died does not wake others.
const sleepMax = 5 * time.Millisecond

// sleep sleeps until another process wakes those that sleep on a word, if the word still has the
// value that was seen.
func sleep(word *uint32, seen uint32) {
	limit := unix.NsecToTimespec(int64(sleepMax))
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(seen), uintptr(unsafe.Pointer(&limit)), 0, 0)
}

// wake wakes all that sleep on a word.
func wake(word *uint32) {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, math.MaxInt32, 0, 0, 0)
}
