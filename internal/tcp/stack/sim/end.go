package simstack

import "github.com/viaduct-hpc/viaduct/internal/tcp/stack"

// How streams end. A host answers every segment for an ended stream with a reset,
// as kernels do for unknown connections.

// deaf reports whether the stream can no longer receive a segment. A closed stream
// takes no bytes, although its own bytes may still be under way; received bytes
// then end those, too.
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

// lingered ends a closed stream when everything it sent has arrived.
func (s *Stream) lingered() {
	if s.closed && s.err == nil && s.out.finArrived {
		s.over(errClosed)
	}
}

// broke is called when the stack finds that the stream no longer works.
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

// abort ends the stream, and informs the other side if it can be reached.
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

// silence ends the stream without telling the other side.
func (s *Stream) silence(err error) {
	if s.err == nil {
		s.over(err)
	}
}

// over marks the stream as ended and stops its sending.
func (s *Stream) over(err error) {
	s.err = err
	if s.call != nil {
		s.call.end()
	}
	s.out.kill()
	s.host.forget(s)
}

// watch is the keep-alive: if nothing was received for that long, the stack probes
// the other side. It is set only when there may be a reason, which saves an event
// per stream and period.
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
			// It ended in an orderly way.
		case s.peer.err != nil:
			s.broke(errReset)
		}
	})
}
