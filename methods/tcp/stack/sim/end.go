package simstack

import "github.com/viaduct-hpc/viaduct/methods/tcp/stack"

// How streams end. A stream that ended is deaf: its host answers whatever still
// arrives with a reset, as kernels do for connections that they do not have.

// deaf reports whether what arrives for the stream finds nobody. The owner of a
// closed one takes no bytes, while what it sent itself may still travel: such bytes
// end that, too.
func (s *Stream) deaf(seg segment) bool { return s.err != nil || s.closed && !seg.fin }

// Close ends the stream in both directions.
func (s *Stream) Close() {
	if s.closed {
		return
	}
	s.closed = true
	s.drop()
	n := s.host.n
	n.trace("%s is closed", s)
	switch {
	case s.err != nil:
	case !s.open || len(s.in.inbox) > 0 || n.sim.Chance(n.opts.LoseOnClose):
		s.abort(errClosed)
	default:
		s.sendEnd()
		s.lingered()
	}
}

// lingered ends a closed stream when all it sent is there.
func (s *Stream) lingered() {
	if s.closed && s.err == nil && s.out.finArrived {
		s.over(errClosed)
	}
}

// broke is the stack finding that the stream does not work any more.
func (s *Stream) broke(err error) {
	if s.err != nil {
		return
	}
	s.host.n.trace("%s broke: %v", s, err)
	s.over(err)
	s.tell(stack.Readable | stack.Writable | stack.Hangup)
	if s.peer != nil {
		s.peer.watch()
	}
}

// abort ends the stream and tells the other side so, if that can be reached.
func (s *Stream) abort(err error) {
	if s.err != nil {
		return
	}
	n := s.host.n
	peer, out := s.peer, s.out
	s.over(err)
	if peer == nil {
		return
	}
	at := max(n.sim.Now()+n.delay(s.host, peer.host), out.last)
	n.sim.At(at, func() {
		if n.reaches(s.host, peer.host) {
			peer.broke(errReset)
		}
	})
	peer.watch()
}

// silence ends the stream without a word.
func (s *Stream) silence(err error) {
	if s.err == nil {
		s.over(err)
	}
}

// over marks the stream as ended and stops what it sends.
func (s *Stream) over(err error) {
	s.err = err
	if s.call != nil {
		s.call.end()
	}
	s.out.kill()
	s.host.forget(s)
}

// watch is the keep-alive: when nothing was heard for that long, the stack asks
// the other side. It is set only when there may be a reason, which saves an
// event per stream and period.
func (s *Stream) watch() {
	n := s.host.n
	if n.opts.KeepAlive < 0 || s.err != nil {
		return
	}
	s.watches++
	turn := s.watches
	n.sim.After(n.opts.KeepAlive+n.soon(n.opts.KeepAlive/8), func() {
		if s.err != nil || s.watches != turn || s.peer == nil {
			return
		}
		switch {
		case !n.reaches(s.host, s.peer.host) || !n.reaches(s.peer.host, s.host):
			s.broke(errTimeout)
		case s.peer.err != nil && s.in.finArrived:
			// It ended in good order.
		case s.peer.err != nil:
			s.broke(errReset)
		}
	})
}
