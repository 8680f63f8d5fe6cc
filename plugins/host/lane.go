package host

import (
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/plugins/arena"
)

// A lane holds the operations that were not said, in their order: there is one for sends
// and one for receives, so that neither wait for the others. Copies of messages lie in a
// half of the arena for each.
type lane struct {
	ops    queue.List[op, *op]
	half   arena.Half
	staged int  // operations, said ones too, with a copy in the arena
	stuck  bool // the first waits for room in the arena, which there is not
}

func (l *lane) empty() bool { return l.ops.First() == nil }

func (l *lane) remove(o *op) {
	l.ops.Remove(o)
	l.stuck = false
}

// alloc gives out memory for a copy: in the lane's half of the arena, or, when no operation
// of the lane has any there that would come back, anywhere.
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

// laneOf is where operations wait, receives or sends. Receives are the first that are
// said: a message that finds its receive need not be kept anywhere.
func (m *Method) laneOf(recv bool) *lane {
	if recv {
		return &m.lanes[0]
	}
	return &m.lanes[1]
}

// unstick has the lanes look for room in the arena again.
func (m *Method) unstick() {
	for i := range m.lanes {
		m.lanes[i].stuck = false
	}
}

// eachWaiting calls fn with each operation that was not said; fn may end it.
func (m *Method) eachWaiting(fn func(*op)) {
	for i := range m.lanes {
		l := &m.lanes[i].ops
		for o := l.First(); o != nil; {
			next := l.Next(o)
			fn(o)
			o = next
		}
	}
}

// giveUp ends an operation that was not said.
func (m *Method) giveUp(o *op, err error) {
	o.lane.remove(o)
	m.finish(o, 0, err)
}
