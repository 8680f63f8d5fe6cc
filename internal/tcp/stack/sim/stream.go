package simstack

import (
	"fmt"
	"io"
	"net/netip"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// A Stream is one end of a connection.
type Stream struct {
	source
	host          *Host
	local, remote netip.AddrPort
	peer          *Stream // nil until the call was answered
	call          *call   // of the calling end
	out, in       *flow   // nil without a peer

	open     bool  // bytes can flow
	finished bool  // Finish was called
	closed   bool  // Close was called; sent bytes may still be under way
	err      error // why the stream is broken
	// armedRecv, armedSend: arriving bytes, or free room, make an event. The
	// owner arms them again by getting ErrAgain.
	armedRecv, armedSend bool
	mark                 int // see LowWater
	watches              int // how often the keep-alive was set
}

func newStream(h *Host, local, remote netip.AddrPort) *Stream {
	s := &Stream{host: h, local: local, remote: remote, armedRecv: true, armedSend: true, mark: 1}
	s.idle = s.anything
	h.streams = append(h.streams, s)
	return s
}

// String names the stream in the trace.
func (s *Stream) String() string { return fmt.Sprintf("%s-%s", s.local, s.remote) }

// Remote is the address of the other side.
func (s *Stream) Remote() netip.AddrPort { return s.remote }

// Connected reports whether bytes can flow.
func (s *Stream) Connected() error {
	switch {
	case s.stack == nil:
		return errClosed
	case s.open:
		return nil
	case s.err != nil:
		return s.err
	}
	return stack.ErrAgain
}

// Recv returns bytes that have arrived, or fewer.
func (s *Stream) Recv(bufs [][]byte) (int, error) {
	bufs = bufs[:min(len(bufs), stack.PiecesMax)]
	room := total(bufs)
	switch {
	case room == 0:
		panic("sim: Recv without room for a byte")
	case s.stack == nil:
		return 0, errClosed
	case s.in.readable() && len(s.in.inbox) > 0 && s.open:
		n := s.in.take(bufs, s.short(min(room, len(s.in.inbox))))
		if len(s.in.inbox) == 0 && !s.in.finArrived && s.err == nil && s.host.n.sim.Chance(0.5) {
			s.armedRecv = true
			return n, stack.ErrAgain
		}
		return n, nil
	case s.in.readable() && s.open:
		return 0, io.EOF
	case s.err != nil:
		return 0, s.err
	}
	s.armedRecv = true
	return 0, stack.ErrAgain
}

// Send takes bytes into the send buffer.
func (s *Stream) Send(bufs [][]byte) (n int, err error) {
	bufs = bufs[:min(len(bufs), stack.PiecesMax)]
	want := total(bufs)
	switch {
	case s.stack == nil:
		return 0, errClosed
	case s.err != nil:
		return 0, s.err
	case s.finished:
		return 0, errPipe
	case !s.open:
		return 0, stack.ErrAgain
	case want == 0:
		return 0, nil
	case s.out.room() == 0:
		s.armedSend = true
		return 0, stack.ErrAgain
	}
	most := s.short(min(want, s.out.room()))
	for _, b := range bufs {
		k := min(len(b), most-n)
		s.out.put(b[:k])
		n += k
	}
	full := n < want && s.out.room() == 0
	s.out.push()
	if full && s.host.n.sim.Chance(0.5) {
		s.armedSend = true
		err = stack.ErrAgain
	}
	return n, err
}

// short draws how many of n bytes to move.
func (s *Stream) short(n int) int {
	if n > 1 && s.host.n.sim.Chance(s.host.n.opts.ShortMoves) {
		return 1 + s.host.n.sim.Rand().IntN(n)
	}
	return n
}

func total(bufs [][]byte) (n int) {
	for _, b := range bufs {
		n += len(b)
	}
	return n
}

// Finish ends the sending direction.
func (s *Stream) Finish() error {
	switch {
	case s.stack == nil:
		return errClosed
	case s.err != nil:
		return s.err
	}
	s.finished = true
	if s.open {
		s.sendEnd()
	}
	return nil
}

// sendEnd queues the end behind the bytes to be sent.
func (s *Stream) sendEnd() {
	s.out.finish = true
	s.out.push()
}

// Delivered reports whether the other side's stack has everything.
func (s *Stream) Delivered() bool { return s.out == nil || s.out.unacked == 0 }

// accepted gives a stream to the owner of a listener.
func (s *Stream) accepted(to *Stack, t stack.Token) {
	to.adopt(&s.source, t)
	switch {
	case s.err == nil:
		s.opened(s.host.n.soon(s.host.n.opts.SetupMax))
	default:
		s.open = true
		s.tell(stack.Readable | stack.Writable | stack.Hangup)
	}
}

// LowWater sets the mark below which arrivals make no event.
func (s *Stream) LowWater(n int) {
	s.mark = min(n, max(s.host.n.opts.RecvBytesMax/2, 1))
	if s.in.readable() {
		s.arrival()
	}
}

// arrival reports bytes to the owner.
func (s *Stream) arrival() {
	if s.open && s.armedRecv && len(s.in.inbox) >= s.mark {
		s.armedRecv = false
		s.tell(stack.Readable)
	}
}

// hangup reports to the owner that nothing more will come.
func (s *Stream) hangup() {
	if s.open {
		s.armedRecv = false
		s.tell(stack.Readable | stack.Hangup)
	}
}

// writable reports room to the owner.
func (s *Stream) writable() {
	if s.open && s.armedSend && s.out.room() > 0 {
		s.armedSend = false
		s.tell(stack.Writable)
	}
}

// anything is the content of an event without a reason.
func (s *Stream) anything() stack.Ready {
	if s.open && s.host.n.sim.Rand().IntN(2) == 0 {
		return stack.Writable
	}
	return stack.Readable
}
