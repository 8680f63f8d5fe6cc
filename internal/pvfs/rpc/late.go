package rpc

import (
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A call that was given up may still be answered. An answer without a receive blocks all others from that server, because tcp
// stops reading at a large message without a receive. So drain receives it into memory of the session, and discards it.

// A leftover describes what a server may still send beyond the pending operations. With the tag 0 it is empty.
type leftover struct {
	from   bmi.Addr
	tag    bmi.Tag
	parts  int64                  // messages of a flow still to come, at most
	expect func(size int64) int64 // their number by the size in the response; nil: the response has arrived
	size   int                    // of the largest message, bytes
}

// finish ends the use of a session after a call. Its operations on the caller's memory have ended, but its response may still
// arrive.
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

// mayWait counts one more session whose late response is waited for, if the limit allows.
func (c *Caller) mayWait() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.late >= c.opt.Late {
		return false
	}
	c.late++
	return true
}

// drain receives everything that may still arrive, and waits as long as a flow may be silent. It may wait for one message too
// many, because a cancelled receive may or may not have taken a message.
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

// endAll cancels everything except the parts of a flow, and waits until it has ended.
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
