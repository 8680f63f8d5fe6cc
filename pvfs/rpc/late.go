package rpc

import (
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A call that was given up may still be answered, and an answer that nobody receives stands in
// the way of all others from that server: tcp does not read on behind a large message without
// a receive. So a drain receives it, into memory that is the session's, and throws it away.

// A leftover is what a server may still send beside what is pending. With the tag 0 it is
// nothing.
type leftover struct {
	from   bmi.Addr
	tag    bmi.Tag
	parts  int64                  // messages of a flow, at most
	expect func(size int64) int64 // how many, by the response; nil: it came
	size   int                    // of the largest of them, bytes
}

// finish ends the use of a session after a call. What it posted into memory of the caller's is
// over; its response may be still to come.
func (c *Caller) finish(s *session) {
	left := s.left
	s.left = leftover{}
	if s.pending > 0 {
		s.cancel(&s.sent)
		s.settleOne(&s.sent)
		if left.tag != 0 && s.sent.err == nil && c.mayWait() {
			go c.drain(s, left)
			return
		}
		s.endAll()
	}
	c.give(s)
}

// mayWait counts one more session whose response is waited for.
func (c *Caller) mayWait() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.late >= c.opt.Late {
		return false
	}
	c.late++
	return true
}

// drain waits until everything came, as long as a flow may be silent. It may wait for one message
// too many: a receive that was cancelled may have taken one with it, or not.
func (c *Caller) drain(s *session, l leftover) {
	s.halted.Store(false)
	c.mu.Lock()
	if c.closed {
		s.halted.Store(true)
	}
	c.mu.Unlock()
	s.receiveRest(l)
	s.endAll()
	c.mu.Lock()
	c.late--
	c.mu.Unlock()
	c.give(s)
}

// endAll cancels everything but the parts of a flow, and waits until it is over.
func (s *session) endAll() {
	s.cancel(&s.sent)
	s.cancel(&s.answered)
	s.cancel(&s.completed)
	s.settle()
}

func (s *session) receiveRest(l leftover) {
	for s.answered.pending || s.completed.pending {
		if s.wait(s.silence()) != nil {
			return
		}
	}
	if s.answered.err != nil {
		return
	}
	if l.expect != nil {
		var resp proto.IOResp
		if proto.ParseResponse(s.room(0)[:s.answered.size], &resp) != nil {
			return
		}
		l.parts = min(l.parts, l.expect(resp.Size))
	}
	if l.parts <= 0 {
		return
	}
	into := make([]byte, l.size)
	var o op
	for range l.parts {
		if s.recv(&o, l.from, l.tag, into) != nil {
			return
		}
		for o.pending {
			if s.wait(s.silence()) != nil {
				s.cancel(&o)
				s.settle()
				return
			}
		}
		if o.err != nil {
			return
		}
	}
}

func (s *session) silence() time.Time { return after(s.caller.opt.FlowTimeout) }
