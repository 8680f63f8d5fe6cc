package names

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Lookups are questions about names under way, each in a goroutine of its own, so
// that nobody waits for a name server with a lock held. Q is what a question is
// about. One goroutine at a time calls the methods.
type Lookups[Q any] struct {
	wake   func()
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	some  atomic.Bool // found has something
	mu    sync.Mutex
	found []Answer[Q]
}

// An Answer is what was found out for a question.
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

// Stop ends all questions and waits for that.
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

// Some tells, cheaply, whether Take has something.
func (l *Lookups[Q]) Some() bool { return l.some.Load() }

// Take gives the answers since the last call.
func (l *Lookups[Q]) Take() []Answer[Q] {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.found
	l.found = nil
	l.some.Store(false)
	return found
}
