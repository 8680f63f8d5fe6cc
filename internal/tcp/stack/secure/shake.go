package secure

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// ready acts on an event of the stream below and reports whether to pass it to
// the owner.
func (s *stream) ready(what stack.Ready) bool {
	if what&stack.Writable != 0 {
		s.blocked = false
	}
	s.hangup |= what & stack.Hangup
	switch s.state {
	case stateOpening:
		s.open()
	case stateShaking:
		s.advance()
	case stateOpen:
		if what&stack.Writable != 0 {
			// An error is returned by the owner's next Send.
			_ = s.flush()
		}
		return s.taken
	case stateFailed, stateLingering:
		s.linger()
	}
	return false
}

// open begins the handshake as soon as the stream below is connected.
func (s *stream) open() {
	err := s.inner.Connected()
	if errors.Is(err, stack.ErrAgain) {
		return
	}
	if err != nil {
		s.inErr, s.outErr = &transportError{err}, err
		s.fail(err)
		return
	}
	t := s.owner
	if s.accepted {
		s.conn = tls.Server(&s.conduit, t.cfg.server)
	} else {
		s.conn = tls.Client(&s.conduit, t.cfg.client)
	}
	s.state = stateShaking
	s.hs = newHandshake(func() { t.notes.add(s) })
	t.watch(s, t.handshakeTimeout())
	hs, conn := s.hs, s.conn
	t.running.Go(func() { hs.run(conn) })
	s.advance()
}

// advance moves bytes between the handshake and the stream below, until there are
// no more or the handshake is over.
func (s *stream) advance() {
	if s.state != stateShaking {
		return
	}
	for {
		more := s.feed()
		if s.owner.cfg.Inline {
			s.hs.settle()
		}
		out, ended := s.hs.take()
		if len(out) > 0 {
			s.out.add(s.owner, out)
		}
		if err := s.flush(); err != nil {
			s.hs.feed(nil, &transportError{err})
		}
		if ended {
			s.shaken()
			return
		}
		if !more {
			return
		}
	}
}

// feed hands the handshake bytes from the stream below, as far as there is room.
// It reports whether there may be more at once; otherwise an event of the stream
// below or a note of the handshake follows.
func (s *stream) feed() bool {
	if s.inErr != nil {
		return false
	}
	room := min(s.hs.room(), len(s.owner.scratch))
	if room == 0 {
		return s.owner.cfg.Inline
	}
	s.piece[0] = s.owner.scratch[:room]
	n, err := s.inner.Recv(s.piece[:])
	s.heard = s.heard || n > 0
	switch got := s.piece[0][:n]; {
	case err == nil:
		s.hs.feed(got, nil)
		return true
	case errors.Is(err, stack.ErrAgain):
		s.hs.feed(got, nil)
		return false
	case errors.Is(err, io.EOF):
		s.inErr = errTruncated
		s.hs.feed(got, s.inErr)
	default:
		s.inErr = &transportError{err}
		s.hs.feed(got, s.inErr)
	}
	return false
}

// shaken ends the handshake.
func (s *stream) shaken() {
	hs := s.hs
	// The goroutine has ended: from here on the owner uses crypto/tls and the
	// conduit.
	s.hs, s.piece[0] = nil, nil
	if hs.err != nil {
		s.fail(s.explainHandshake(hs.err))
		return
	}
	if len(hs.in) > 0 {
		s.rest = hs.in
	}
	s.state = stateOpen
	if certs := s.conn.ConnectionState().PeerCertificates; len(certs) > 0 && !s.owner.cfg.shared {
		s.name = certs[0].Subject.CommonName // with a shared key any holder of the key can write any name there
	}
	s.settled()
	if s.finish == finishAsked {
		// An error is returned by the owner's next Send.
		_ = s.Finish()
	}
}

// fail records why the stream will not open.
func (s *stream) fail(err error) {
	s.state, s.err = stateFailed, err
	s.settled()
	s.linger()
	if s.inErr == nil {
		s.owner.watch(s, lingerTimeout)
	}
}

// settled tells the owner that Connected has an answer.
func (s *stream) settled() {
	s.owner.unwatch(s)
	if s.taken {
		s.owner.streams = append(s.owner.streams, s)
	}
	if s.accepted {
		s.owner.shaking--
	}
}

// linger keeps a failed stream open until the other side has read the reason. If it were closed
// with unread bytes, a kernel would discard the sent bytes.
func (s *stream) linger() {
	if s.finish < finishAnnounced {
		s.finish = finishAnnounced
	}
	if err := s.flush(); err != nil && s.inErr == nil {
		s.inErr = &transportError{err}
	}
	for read := 0; s.inErr == nil; {
		s.piece[0] = s.owner.scratch
		n, err := s.inner.Recv(s.piece[:])
		if read += n; read > lingerBytesMax {
			err = errTalkative
		}
		if errors.Is(err, stack.ErrAgain) {
			return
		}
		if err != nil {
			s.inErr = &transportError{err}
		}
	}
	if s.state == stateLingering {
		s.abandon()
	}
}

// expire acts on the deadline of the stream.
func (s *stream) expire() {
	switch s.state {
	case stateShaking:
		s.hs.stop()
		s.inErr, s.outErr = errTruncated, errTruncated
		s.fail(fmt.Errorf("secure: the other side did not end its TLS handshake within %s (does it speak tcp:// rather than tcps://?): %w",
			s.owner.handshakeTimeout(), os.ErrDeadlineExceeded))
	case stateFailed:
		s.inErr = errTruncated // no more reads follow: Close need not wait
	case stateLingering:
		s.abandon()
	}
}

// Close implements stack.Stream.
func (s *stream) Close() {
	t := s.owner
	switch {
	case s.state == stateLingering || s.state == stateClosed:
	case s.state == stateFailed && s.inErr == nil && t.lingering < lingersMax:
		s.state = stateLingering
		t.lingering++
	default:
		s.abandon()
	}
}

// abandon ends the stream now.
func (s *stream) abandon() {
	t := s.owner
	if s.state == stateClosed {
		return
	}
	if s.hs != nil {
		s.hs.stop()
	}
	t.unwatch(s)
	was := s.state
	s.state, s.err = stateClosed, os.ErrClosed
	s.out.release(t)
	s.inner.Close()
	t.give(s.slot)
	switch {
	case was == stateLingering:
		t.lingering--
	case s.accepted && (was == stateOpening || was == stateShaking):
		t.shaking--
	}
}
