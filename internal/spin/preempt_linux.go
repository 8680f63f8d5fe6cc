package spin

import "golang.org/x/sys/unix"

// involuntary counts how often the kernel took the core from the current thread,
// from getrusage(2).
func involuntary() (thread int, switches int64) {
	var use unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &use) != nil {
		return 0, 0
	}
	return unix.Gettid(), int64(use.Nivcsw) // 32 bits wide where int is
}
