package launch

import "runtime"

// A process asks the kernel for SIGKILL when its parent dies (PR_SET_PDEATHSIG). To the kernel the
// parent is the thread that forked. So one thread forks all processes of a job, and the job keeps
// it until it ends.
type forks chan func()

func newForks() forks {
	f := make(forks)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for fork := range f {
			fork()
		}
	}()
	return f
}

func (f forks) do(fork func() error) error {
	done := make(chan error)
	f <- func() { done <- fork() }
	return <-done
}

// end ends the thread, when all processes are gone.
func (f forks) end() { close(f) }
