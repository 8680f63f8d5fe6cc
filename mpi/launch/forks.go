package launch

import "runtime"

// A process asks the kernel for SIGKILL when its parent dies (PR_SET_PDEATHSIG), and for the
// kernel the parent is the thread that forked. So all processes of a job are forked by one
// thread, which the job keeps until it ends.
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

// end lets the thread go, when all processes are gone.
func (f forks) end() { close(f) }
