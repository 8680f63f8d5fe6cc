package tcp

import (
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/tcp/stack"
)

// sleeper is the method over a stack that can be slept on (bmi.Sleeper).
type sleeper struct {
	*method
	stack stack.Sleeper
}

// Arm asks the stack for wake-ups, unless something is left to do here.
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

// lowWater is how many bytes are worth a wake-up while left of the size of a message are to come.
func lowWater(left, size int) int {
	if n := min(left, size/lowWaterPart, lowWaterMax); n >= lowWaterMin {
		return n
	}
	return 1
}

// await sets the low-water mark of the stream, if that has one.
func (c *conn) await(mark int) {
	if mark == max(c.mark, 1) {
		return
	}
	if p, ok := c.stream.(stack.Patient); ok {
		p.LowWater(mark)
		c.mark = mark
	}
}

// Disarm takes Arm back. The next Poll asks the stack what happened.
func (s sleeper) Disarm() {
	s.armed = false
	s.stack.Disarm()
	s.look = true
}

func (s sleeper) Sleep(timeout time.Duration) { s.stack.Sleep(timeout) }
func (s sleeper) Wake()                       { s.stack.Wake() }

// What others do while somebody is between Arm and Disarm can leave something to
// do of which no event will tell: a connection that goes on after its receive was
// posted, a long send that the stream takes in parts, bytes of which a Poll read
// the first only. Who sleeps is woken then.

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

// busy tells whether the next Poll has something to do whatever arrives.
func (m *method) busy() bool {
	for _, c := range m.hot[:m.hots] {
		if c.more {
			return true
		}
	}
	return len(m.dirty)+len(m.accepting) > 0 || !m.ready.Empty() || m.names.Some()
}
