package launch

import "sync"

// A queue calls functions one after the other, on its own goroutine. A function that waits delays
// only the later ones.
type queue struct {
	mu     sync.Mutex
	ready  *sync.Cond
	calls  []func()
	closed bool
	ended  chan struct{}
}

func newQueue() *queue {
	q := &queue{ended: make(chan struct{})}
	q.ready = sync.NewCond(&q.mu)
	go q.run()
	return q
}

func (q *queue) run() {
	defer close(q.ended)
	for {
		q.mu.Lock()
		for len(q.calls) == 0 && !q.closed {
			q.ready.Wait()
		}
		calls := q.calls
		q.calls = nil
		q.mu.Unlock()
		if len(calls) == 0 {
			return
		}
		for _, call := range calls {
			call()
		}
	}
}

func (q *queue) add(call func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.calls = append(q.calls, call)
	q.ready.Signal()
}

// close lets the goroutine end when it has called all.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.ready.Signal()
}

// A budget is a number of bytes that may be under way.
type budget struct {
	mu     sync.Mutex
	ready  *sync.Cond
	left   int
	closed bool
}

func newBudget(bytes int) *budget {
	b := &budget{left: bytes}
	b.ready = sync.NewCond(&b.mu)
	return b
}

// take waits until n bytes may be sent, n ≤ the whole; it returns false if the budget is closed.
func (b *budget) take(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.left < n && !b.closed {
		b.ready.Wait()
	}
	b.left -= n
	return !b.closed
}

func (b *budget) give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += n
	b.ready.Broadcast()
}

func (b *budget) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.ready.Broadcast()
}
