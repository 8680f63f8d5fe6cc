package names

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Lookups are name lookups in progress, each in its own goroutine, so that no caller
// waits for a name server while it holds a lock. Q is the caller's value that belongs
// to a lookup. One goroutine at a time calls the methods.
type Lookups[Q any] struct {
	wake   func()
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	some  atomic.Bool // found is not empty
	mu    sync.Mutex
	found []Answer[Q]
}

// An Answer is the result of a lookup.
type Answer[Q any] struct {
	For   Q
	Addrs []netip.AddrPort
	Err   error
}

// Start makes Lookups ready. wake is called, by any goroutine, when there is an answer.
func (l *Lookups[Q]) Start(wake func()) {
	l.wake = wake
	l.ctx, l.cancel = context.WithCancel(context.Background())
}

// Stop cancels all lookups and waits for their end.
func (l *Lookups[Q]) Stop() {
	l.cancel()
	l.work.Wait()
}

// Ask begins to look a target up.
func (l *Lookups[Q]) Ask(q Q, t Target) {
	l.work.Go(func() {
		addrs, err := Find(l.ctx, t)
		l.mu.Lock()
		l.found = append(l.found, Answer[Q]{q, addrs, err})
		l.some.Store(true)
		l.mu.Unlock()
		l.wake()
	})
}

// Some reports, cheaply, whether Take has something.
func (l *Lookups[Q]) Some() bool { return l.some.Load() }

// Take returns the answers since the last call.
func (l *Lookups[Q]) Take() []Answer[Q] {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.found
	l.found = nil
	l.some.Store(false)
	return found
}
