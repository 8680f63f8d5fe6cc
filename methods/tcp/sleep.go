package tcp

import (
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// sleeper is the method over a stack that supports sleeping (bmi.Sleeper).
type sleeper struct {
	*method
	stack stack.Sleeper
}

// Arm asks the stack for wake-ups, unless there is work to do.
func (s sleeper) Arm() bool {
	m := s.method
	if m.busy() {
		return false
	}
	for _, c := range m.hot[:m.hots] {
		c.await(lowWater(c.reader.Left(), c.in.head.Size))
	}
	m.armed = s.stack.Arm()
	return m.armed
}

// lowWater is how many bytes justify a wake-up while left bytes of a message of this size are
// missing.
func lowWater(left, size int) int {
	if n := min(left, size/lowWaterPart, lowWaterMax); n >= lowWaterMin {
		return n
	}
	return 1
}

// await sets the low-water mark of the stream, if it has one.
func (c *conn) await(mark int) {
	if mark == max(c.mark, 1) {
		return
	}
	if p, ok := c.stream.(stack.Patient); ok {
		p.LowWater(mark)
		c.mark = mark
	}
}

// Disarm undoes Arm. The next Poll asks the stack for events.
func (s sleeper) Disarm() {
	s.armed = false
	s.stack.Disarm()
	s.look = true
}

func (s sleeper) Sleep(timeout time.Duration) { s.stack.Sleep(timeout) }
func (s sleeper) Wake()                       { s.stack.Wake() }

// Calls by other goroutines between Arm and Disarm can create work that no event will report: a
// connection that continues after its receive was posted, a long send that the stream takes in
// parts, a Poll that read only some of the bytes. The sleeping side must then be woken.

func (s sleeper) Poll() bool {
	did := s.method.Poll()
	s.rouse()
	return did
}

func (s sleeper) PostSend(op *bmi.Op) {
	s.method.PostSend(op)
	s.rouse()
}

func (s sleeper) PostRecv(op *bmi.Op) {
	s.method.PostRecv(op)
	s.rouse()
}

func (s sleeper) Cancel(op *bmi.Op) {
	s.method.Cancel(op)
	s.rouse()
}

func (s sleeper) Drop(p bmi.Peer) {
	s.method.Drop(p)
	s.rouse()
}

func (s sleeper) rouse() {
	if s.armed && s.busy() {
		s.stack.Wake()
	}
}

// busy reports whether the next Poll has work even if nothing arrives.
func (m *method) busy() bool {
	for _, c := range m.hot[:m.hots] {
		if c.more {
			return true
		}
	}
	return len(m.dirty)+len(m.accepting) > 0 || !m.ready.Empty() || m.names.Some()
}
