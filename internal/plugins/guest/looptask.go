//go:build linux

package guest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// A task is a function that another goroutine wants the Loop to run between two turns.
type task struct {
	fn   func() // nil only checks that the Loop is running
	done chan struct{}
	err  error // set before done is closed
}

// tasks are the tasks that the Loop has not run yet.
type tasks struct {
	any    atomic.Bool
	mu     sync.Mutex
	list   []*task
	closed bool
	err    error // the reason, once closed
}

// add queues a task. It returns false when the Loop is ending or has ended.
func (q *tasks) add(t *task) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		t.err = q.verdict(t)
		return false
	}
	q.list = append(q.list, t)
	q.any.Store(true)
	return true
}

// verdict returns the error of a task that is too late. A task without a function has none, unless
// the program broke the rules.
func (q *tasks) verdict(t *task) error {
	switch {
	case q.err != nil:
		return q.err
	case t.fn == nil:
		return nil
	}
	return fmt.Errorf("%w: the plugin's method", bmi.ErrClosed)
}

// remove removes a task that has not begun.
func (q *tasks) remove(t *task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.list, t); i >= 0 {
		q.list = slices.Delete(q.list, i, i+1)
	}
}

// take removes and returns the oldest task, or nil.
func (q *tasks) take() *task {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 {
		q.any.Store(false)
		return nil
	}
	t := q.list[0]
	q.list = slices.Delete(q.list, 0, 1)
	return t
}

// run runs the queued tasks, in the Loop's goroutine.
func (q *tasks) run() {
	for t := q.take(); t != nil; t = q.take() {
		if t.fn != nil {
			t.fn()
		}
		if t.done != nil {
			close(t.done)
		}
	}
}

// close refuses the queued tasks and all later ones; err is nil unless the program broke the rules.
func (q *tasks) close(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.err = true, err
	for _, t := range q.list {
		t.err = q.verdict(t)
		if t.done != nil {
			close(t.done)
		}
	}
	q.list = nil
}

func (l *Loop) submit(t *task) bool {
	if !l.tasks.add(t) {
		return false
	}
	l.wake()
	return true
}

// Do runs fn between two turns, where the method may be called; a nil fn only waits for the Loop to
// go round. It returns ErrProgram or bmi.ErrClosed if the Loop is ending or has ended. If ctx ends
// first, it returns ctx's error, and fn may still run.
func (l *Loop) Do(ctx context.Context, fn func()) error {
	t := &task{fn: fn, done: make(chan struct{})}
	if !l.submit(t) {
		return t.err
	}
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		l.tasks.remove(t)
		return ctx.Err()
	}
}

// End closes the method, which may send pending messages until drain ends, and then ends the Loop.
// It does not wait, see Done. Only the first call counts.
func (l *Loop) End(drain context.Context) {
	l.submit(&task{fn: func() {
		if l.ending == nil {
			l.ending = drain
		}
	}})
}
