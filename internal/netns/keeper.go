//go:build linux

package netns

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// errEnded says that a namespace no longer exists.
var errEnded = errors.New("netns: the host is closed")

// A keeper is a thread that lives in its own namespace and so keeps it alive.
type keeper struct {
	tid   int
	calls chan call
	end   chan struct{} // closed: the thread must go
	ended chan struct{} // closed: it has ended
}

type call struct {
	fn   func() error
	done chan result
}

type result struct {
	err   error
	panic any
}

// newKeeper starts a thread in a new namespace.
func newKeeper() (*keeper, error) {
	k := &keeper{calls: make(chan call), end: make(chan struct{}), ended: make(chan struct{})}
	ready := make(chan error)
	go k.live(ready)
	if err := <-ready; err != nil {
		return nil, err
	}
	return k, nil
}

func (k *keeper) live(ready chan<- error) {
	// The goroutine never unlocks, so the thread ends with it.
	runtime.LockOSThread()
	k.tid = unix.Gettid()
	if k.tid == unix.Getpid() {
		// The main thread never ends, and would keep the namespace. While this
		// goroutine is locked to it, another goroutine gets another thread.
		inner := make(chan error)
		go k.live(inner)
		err := <-inner
		runtime.UnlockOSThread()
		ready <- err
		return
	}
	defer close(k.ended)
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		ready <- fmt.Errorf("make a network namespace: %w", err)
		return
	}
	ready <- nil
	for {
		select {
		case c := <-k.calls:
			c.done <- run(c.fn)
		case <-k.end:
			return
		}
	}
}

func run(fn func() error) (r result) {
	defer func() { r.panic = recover() }()
	r.err = fn()
	return r
}

// do runs fn in the namespace.
func (k *keeper) do(fn func() error) error {
	c := call{fn: fn, done: make(chan result, 1)}
	select {
	case k.calls <- c:
	case <-k.ended:
		return errEnded
	}
	select {
	case r := <-c.done:
		if r.panic != nil {
			panic(r.panic)
		}
		return r.err
	case <-k.ended:
		return errors.New("netns: the function ended its goroutine (a test may fail only in its own)")
	}
}

// close ends the thread, and with it the namespace.
func (k *keeper) close() {
	close(k.end)
	<-k.ended
}
