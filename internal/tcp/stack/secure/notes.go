package secure

import (
	"sync"
	"sync/atomic"
)

// notes are the streams whose handshakes have something for the owner. It is the
// only part of a Stack that other goroutines use.
type notes struct {
	some   atomic.Bool // len(list) > 0
	wake   func()      // may be nil
	mu     sync.Mutex
	list   []*stream
	closed bool
}

// add queues a stream, if it is not nil, and wakes the owner.
func (n *notes) add(s *stream) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	if s != nil && !s.noted {
		s.noted = true
		n.list = append(n.list, s)
		n.some.Store(true)
	}
	if n.wake != nil {
		n.wake()
	}
}

// take moves the queue to the end of list.
func (n *notes) take(list []*stream) []*stream {
	n.mu.Lock()
	defer n.mu.Unlock()
	list = append(list, n.list...)
	for _, s := range n.list {
		s.noted = false
	}
	clear(n.list)
	n.list = n.list[:0]
	n.some.Store(false)
	return list
}

func (n *notes) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed, n.list = true, nil
	n.some.Store(false)
}
