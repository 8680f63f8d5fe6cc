package simstack

import (
	"fmt"
	"io"
	"net/netip"

	"github.com/viaduct-hpc/viaduct/methods/tcp/stack"
)

// A Stream is one end of a connection.
type Stream struct {
	source
	host          *Host
	local, remote netip.AddrPort
	peer          *Stream // nil until somebody answered
	call          *call   // of the end that asked
	out, in       *flow   // nil without a peer

	open     bool  // bytes can flow
	finished bool  // Finish was called
	closed   bool  // Close was called; what was sent may still travel
	err      error // why the stream is broken
	// armedRecv, armedSend: bytes, and room, make an event. One is not armed
	// again until the owner was told ErrAgain.
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

// Connected tells whether bytes can flow.
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

// Recv takes what has arrived, or less.
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

// Finish says that nothing more will be sent.
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

// sendEnd puts the end behind what is to be sent.
func (s *Stream) sendEnd() {
	s.out.finish = true
	s.out.push()
}

// Delivered tells whether the other side's stack has everything.
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

// arrival tells the owner of bytes.
func (s *Stream) arrival() {
	if s.open && s.armedRecv && len(s.in.inbox) >= s.mark {
		s.armedRecv = false
		s.tell(stack.Readable)
	}
}

// hangup tells the owner that nothing more will come.
func (s *Stream) hangup() {
	if s.open {
		s.armedRecv = false
		s.tell(stack.Readable | stack.Hangup)
	}
}

// writable tells the owner of room.
func (s *Stream) writable() {
	if s.open && s.armedSend && s.out.room() > 0 {
		s.armedSend = false
		s.tell(stack.Writable)
	}
}

// anything is what an event without a reason may say.
func (s *Stream) anything() stack.Ready {
	if s.open && s.host.n.sim.Rand().IntN(2) == 0 {
		return stack.Writable
	}
	return stack.Readable
}
