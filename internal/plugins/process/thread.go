//go:build linux

package process

import (
	"runtime"
	"sync"
)

// A plugin asks the kernel for SIGKILL when its parent dies (PR_SET_PDEATHSIG). To the kernel the
// parent is the thread that forked, and the Go runtime may end a thread at any time. So one thread
// forks all plugins, and it lives as long as there are any.
var forks forkThread

type forkThread struct {
	mu       sync.Mutex
	children int
	work     chan func()
}

// start runs fork on the thread. If fork succeeds, the number of children grows by one until ended
// is called, and the thread lives until there are none.
func (t *forkThread) start(fork func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.children == 0 {
		t.work = make(chan func())
		go runForks(t.work)
	}
	t.children++
	done := make(chan error)
	t.work <- func() { done <- fork() }
	err := <-done
	if err != nil {
		t.endedLocked()
	}
	return err
}

func (t *forkThread) ended() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endedLocked()
}

func (t *forkThread) endedLocked() {
	if t.children--; t.children == 0 {
		close(t.work)
	}
}

func runForks(work <-chan func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for f := range work {
		f()
	}
}
