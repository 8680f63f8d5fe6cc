package launch

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// A process asks the kernel for SIGKILL when its parent dies (PR_SET_PDEATHSIG). To the kernel the
// parent is the thread that forked. So one thread forks all processes of a job, and the job keeps
// it until it ends.
//
// A process inherits the timer slack of that thread, too: how much later than asked the kernel may
// wake it.
type forks chan func()

func newForks() forks {
	f := make(forks)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer setTimerSlack(0) // that which the thread began with
		for fork := range f {
			fork()
		}
	}()
	return f
}

// Where many processes share a processor, each waits long for its turn. But all have threads that
// wake up for a moment after some microseconds, again and again, such as the monitor of Go's runtime
// in a process that is not idle. A larger slack makes that rarer, and saves a quarter of what a
// thousand processes take to begin and end (docs/internals/decisions/0046-many-ranks-on-a-host.md).
const (
	crowdEach = 8                     // processes for each processor that share it like that
	slackEach = 50 * time.Microsecond // for each process on a processor: the kernel's default for any process
	slackMax  = 4 * time.Millisecond  // a program may use timers, too
)

// crowd sets the timer slack of processes that are forked from now on; with them there are so many.
func (f forks) crowd(processes int) {
	_ = f.do(func() error { setTimerSlack(slackOf(processes, runtime.NumCPU())); return nil })
}

// slackOf is the timer slack of each of several processes on some processors; 0 means the default.
func slackOf(processes, processors int) time.Duration {
	if processes < crowdEach*processors {
		return 0
	}
	return min(slackEach*time.Duration(processes/processors), slackMax)
}

// setTimerSlack sets the timer slack of this thread.
func setTimerSlack(slack time.Duration) {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack), 0, 0, 0) // fails on no kernel that has it
}

func (f forks) do(fork func() error) error {
	done := make(chan error)
	f <- func() { done <- fork() }
	return <-done
}

// end ends the thread, when all processes are gone.
func (f forks) end() { close(f) }
