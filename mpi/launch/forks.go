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

// Where many processes share a processor, each waits for its turn longer than crowdSlack. But all
// have threads that wake up every few microseconds, as Go's monitor does while its process is not
// idle. With this slack, a thousand processes take a quarter less processor time to begin and end.
const (
	crowdEach  = 8 // processes for each processor
	crowdSlack = time.Millisecond
)

// crowd gives the processes that are forked next more timer slack, if there are many.
func (f forks) crowd(processes int) {
	slack := time.Duration(0)
	if processes >= crowdEach*runtime.NumCPU() {
		slack = crowdSlack
	}
	_ = f.do(func() error { setTimerSlack(slack); return nil })
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
