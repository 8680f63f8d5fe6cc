package host

import (
	"github.com/viaduct-hpc/viaduct/internal/plugins/arena"
	"github.com/viaduct-hpc/viaduct/internal/queue"
)

// A lane holds operations that have not been written to the ring, in order. There is one for sends
// and one for receives, so that neither waits for the other. Copies of messages lie in one half of
// the arena for each.
type lane struct {
	ops    queue.List[op]
	half   arena.Half
	staged int  // operations with a copy in the arena, including those in the plugin
	stuck  bool // the first waits for room in the arena
}

func (l *lane) empty() bool { return l.ops.First() == nil }

func (l *lane) remove(o *op) {
	l.ops.Remove(&o.links)
	l.stuck = false
}

// alloc allocates memory for a copy: in the lane's half of the arena, or anywhere if no operation
// of the lane has a copy whose end would make room.
func (l *lane) alloc(a *arena.Arena, size int) (mem []byte, ok bool) {
	if mem, ok = a.AllocIn(l.half, size); !ok && l.staged == 0 {
		mem, ok = a.Alloc(size)
	}
	if ok {
		l.staged++
	}
	l.stuck = !ok
	return mem, ok
}

// laneOf returns the lane of receives or sends. Receives are written first: a message that finds
// its receive need not be kept.
func (m *Method) laneOf(recv bool) *lane {
	if recv {
		return &m.lanes[0]
	}
	return &m.lanes[1]
}

// unstick makes the lanes try again to find room in the arena.
func (m *Method) unstick() {
	for i := range m.lanes {
		m.lanes[i].stuck = false
	}
}

// eachWaiting calls fn with each operation in the lanes; fn may end it.
func (m *Method) eachWaiting(fn func(*op)) {
	for i := range m.lanes {
		l := &m.lanes[i].ops
		for o := l.First(); o != nil; {
			next := o.links.Next()
			fn(o)
			o = next
		}
	}
}

// giveUp ends an operation in a lane.
func (m *Method) giveUp(o *op, err error) {
	o.lane.remove(o)
	m.finish(o, 0, err)
}
