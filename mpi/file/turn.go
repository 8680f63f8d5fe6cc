package file

import (
	"context"
	"sync"
)

// A queue lets operations begin in the order in which they were called, one at a time. The
// collective operations on a file need that, because their messages would mix otherwise, and the
// uses of the shared pointer, because a later call must see an earlier one.
type queue struct {
	mu   sync.Mutex
	last chan struct{} // is closed when the last operation has ended; guarded by mu
}

// A turn is the place of an operation in a queue.
type turn struct {
	before, done chan struct{}
}

// join takes the next turn.
func (q *queue) join() turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	t := turn{q.last, make(chan struct{})}
	q.last = t.done
	return t
}

// wait waits for the operations before, or until ctx ends.
func (t turn) wait(ctx context.Context) error {
	if t.before == nil {
		return nil
	}
	select {
	case <-t.before:
		return nil
	default:
	}
	select {
	case <-t.before:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// come waits for the operations before.
func (t turn) come() {
	if t.before != nil {
		<-t.before
	}
}

// end ends a turn that has come.
func (t turn) end() { close(t.done) }

// skip ends a turn when it comes, without waiting.
func (t turn) skip() {
	go func() {
		t.come()
		t.end()
	}()
}
