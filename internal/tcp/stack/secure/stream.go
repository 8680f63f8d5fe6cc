package secure

import (
	"crypto/tls"
	"errors"
	"io"
	"net/netip"
	"os"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/timers"
)

// A state is the state of a stream:
//
//	opening ──► shaking ──► open ───► closed
//	   │           │                    ▲
//	   └───────────┴──► failed ─────────┤
//	                      └► lingering ─┘
//
// (Close leads from each state to closed, or from failed to lingering.)
type state uint8

const (
	stateOpening   state = iota // the stream below connects
	stateShaking                // TLS shakes hands
	stateOpen                   // bytes flow
	stateFailed                 // the handshake failed; err says why
	stateLingering              // failed, closed by the owner, and the other side may not know yet
	stateClosed
)

// A finish is the progress of ending the sending direction.
type finish uint8

const (
	finishNot       finish = iota
	finishAsked            // the owner called Finish
	finishAnnounced        // TLS has queued close_notify behind the pending bytes
	finishDone             // the stream below has taken everything, and was finished
)

// lingerTimeout is how long a failed stream is kept for the other side to read the reason;
// lingersMax bounds the number of such streams. A peer that sends more than lingerBytesMax without
// a pause is not about to read: that is more than sockets hold of what an honest peer had sent
// before.
const (
	lingerTimeout  = 2 * time.Second
	lingersMax     = 64
	lingerBytesMax = 16 << 20
)

var errTalkative = errors.New("the other side goes on sending after the handshake failed")

// A stream is one connection.
type stream struct {
	owner    *Stack
	inner    stack.Stream
	conn     *tls.Conn
	conduit  conduit
	hs       *handshake // while its goroutine runs
	rest     []byte     // bytes that it received and did not use
	out      outgoing
	inErr    error  // why nothing more comes from the stream below
	outErr   error  // why the stream below takes no more bytes
	err      error  // why the stream failed or Recv ended, for the owner
	name     string // the other side's, see PeerName
	slot     stack.Token
	token    stack.Token
	timer    timers.Timer[stream]
	piece    [1][]byte
	state    state
	finish   finish
	accepted bool        // it came from a listener: this side is the TLS server
	taken    bool        // it has a token
	heard    bool        // the other side sent something
	got      bool        // the other side sent data
	hangup   stack.Ready // stack.Hangup once the stream below reported it
	blocked  bool        // the stream below takes no more bytes until an event
	dry      bool        // the stream below returned ErrAgain during this Recv
	noted    bool        // in notes.list; notes.mu guards it
}

func (t *Stack) newStream() *stream {
	s := &stream{owner: t}
	s.conduit.stream = s
	s.slot = t.take(slot{stream: s})
	return s
}

// PeerName is the common name in the other side's certificate (stack.Named); "" with a shared key.
func (s *stream) PeerName() string { return s.name }

// Connected implements stack.Stream.
func (s *stream) Connected() error {
	switch s.state {
	case stateOpen:
		return nil
	case stateOpening, stateShaking:
		return stack.ErrAgain
	}
	return s.err
}

// Recv implements stack.Stream.
func (s *stream) Recv(bufs [][]byte) (n int, err error) {
	if s.state != stateOpen {
		return 0, s.Connected()
	}
	if s.err != nil {
		return 0, s.err
	}
	s.dry = false
	for _, buf := range bufs[:min(len(bufs), stack.PiecesMax)] {
		for len(buf) > 0 {
			m, err := s.conn.Read(buf)
			n += m
			buf = buf[m:]
			s.got = s.got || m > 0
			if err == nil {
				continue
			}
			if err = s.recvError(err); n > 0 && !errors.Is(err, stack.ErrAgain) {
				err = nil // the next call returns it
			}
			return n, err
		}
	}
	return n, nil
}

// recvError interprets an error of crypto/tls's Read, and sends any bytes that TLS wrote in
// response.
func (s *stream) recvError(err error) error {
	// Reading may make TLS write answers to key updates, or alerts. An error in sending those is
	// returned by the next Send.
	_ = s.flush()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return stack.ErrAgain
	case errors.Is(err, io.EOF):
		s.err = io.EOF
	default:
		s.err = s.explainRecv(err)
	}
	return s.err
}

// Send implements stack.Stream.
func (s *stream) Send(bufs [][]byte) (n int, err error) {
	if s.state != stateOpen {
		return 0, s.Connected()
	}
	bufs = bufs[:min(len(bufs), stack.PiecesMax)]
	at := cursor{bufs: bufs}
	for {
		if err := s.flush(); err != nil {
			return n, err
		}
		room := outgoingBytesMax - s.pending()
		if room < outgoingBytesMin {
			return n, stack.ErrAgain
		}
		for room > 0 {
			data := at.next(s.owner.scratch[:min(room, recordBytesMax)])
			if len(data) == 0 {
				return n, s.flush()
			}
			if _, err := s.conn.Write(data); err != nil {
				s.outErr = err
				return n, err
			}
			n += len(data)
			room -= len(data)
		}
	}
}

// A cursor cuts pieces of memory into records.
type cursor struct {
	bufs [][]byte
	off  int // bufs[0][:off] has been sent
}

// next returns as much as fits into scratch: several pieces are copied to scratch, a single one is
// returned in place.
func (c *cursor) next(scratch []byte) []byte {
	n := 0
	for len(c.bufs) > 0 {
		piece := c.bufs[0][c.off:]
		if n == 0 && len(piece) >= len(scratch) {
			c.off += len(scratch)
			return piece[:len(scratch)]
		}
		m := copy(scratch[n:], piece)
		n += m
		if m < len(piece) {
			c.off += m
			break
		}
		c.bufs, c.off = c.bufs[1:], 0
	}
	return scratch[:n]
}

// Finish implements stack.Stream.
func (s *stream) Finish() error {
	switch s.state {
	case stateOpening, stateShaking:
		s.finish = finishAsked
		return nil
	case stateOpen:
	default:
		return s.err
	}
	if s.finish >= finishAnnounced {
		return nil
	}
	if s.outErr != nil {
		return s.outErr
	}
	if err := s.conn.CloseWrite(); err != nil {
		return err
	}
	s.finish = finishAnnounced
	return s.flush()
}

// Delivered implements stack.Stream.
func (s *stream) Delivered() bool {
	switch s.state {
	case stateOpening, stateShaking:
		return s.finish == finishNot // nothing was sent
	case stateOpen:
		return s.pending() == 0 && s.outErr == nil && s.inner.Delivered()
	}
	return false
}

// Remote implements stack.Stream.
func (s *stream) Remote() netip.AddrPort { return s.inner.Remote() }
