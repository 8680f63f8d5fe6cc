package secure

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// outgoingBytesMax is how much encrypted data may wait for the stream below, in
// bytes. The largest eager message and its headers fit.
const outgoingBytesMax = 64 << 10

// outgoingBytesMin is the least room that Send uses, in bytes, so that it does
// not cut data into records that are mostly overhead.
const outgoingBytesMin = 4 << 10

// outgoingSlack is what TLS may add by itself: the last record's overhead, an
// alert, answers to key updates. A peer that requests more answers than fit,
// without reading them, is disconnected.
const outgoingSlack = recordBytesMax + 4<<10

// recordBytesMax is how much data one TLS record carries, in bytes.
const recordBytesMax = 16 << 10

var errFlooded = errors.New("the other side asks for more key updates than it reads")

// A conduit is the net.Conn that crypto/tls sees. During the handshake only the
// handshake's goroutine uses it; before and afterwards only the owner.
type conduit struct {
	stream *stream
}

// Read implements net.Conn. If nothing is there it returns a time-out, which
// crypto/tls does not treat as fatal.
func (c *conduit) Read(b []byte) (int, error) {
	s := c.stream
	if s.hs != nil {
		return s.hs.read(b)
	}
	if len(s.rest) > 0 {
		n := copy(b, s.rest)
		if s.rest = s.rest[n:]; len(s.rest) == 0 {
			s.rest = nil
		}
		return n, nil
	}
	if s.inErr != nil {
		return 0, s.inErr
	}
	if s.dry {
		return 0, os.ErrDeadlineExceeded
	}
	s.piece[0] = b
	n, err := s.inner.Recv(s.piece[:])
	s.piece[0] = nil
	switch {
	case err == nil:
	case errors.Is(err, stack.ErrAgain):
		s.dry = true
	case errors.Is(err, io.EOF):
		// An end without close_notify; any host on the path can forge it.
		s.inErr = errTruncated
	default:
		s.inErr = &transportError{err}
	}
	switch {
	case n > 0:
		return n, nil
	case s.inErr != nil:
		return 0, s.inErr
	}
	return 0, os.ErrDeadlineExceeded
}

// Write implements net.Conn: it keeps the bytes until flush.
func (c *conduit) Write(b []byte) (int, error) {
	s := c.stream
	if s.hs != nil {
		return s.hs.write(b)
	}
	if s.pending()+len(b) > outgoingBytesMax+outgoingSlack {
		// crypto/tls reports this only with the next Write, and goes on with keys
		// that the other side no longer has.
		s.inErr, s.outErr = errFlooded, errFlooded
		return 0, errFlooded
	}
	s.out.add(s.owner, b)
	return len(b), nil
}

// Close implements net.Conn; the owner closes the stream, not crypto/tls.
func (*conduit) Close() error { return nil }

// LocalAddr implements net.Conn.
func (*conduit) LocalAddr() net.Addr { return nil }

// RemoteAddr implements net.Conn.
func (c *conduit) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.stream.Remote()) }

// SetDeadline implements net.Conn; nothing blocks here.
func (*conduit) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (*conduit) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (*conduit) SetWriteDeadline(time.Time) error { return nil }
