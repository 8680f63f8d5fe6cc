package secure

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var address = netip.MustParseAddrPort("192.0.2.1:7000")

// side is one stack and the streams that its owner knows.
type side struct {
	t       *testing.T
	stack   stack.Stack
	l       stack.Listener
	to      netip.AddrPort // the address that dial dials
	next    stack.Token
	streams map[stack.Token]*peer
	fresh   []*peer // accepted
	full    bool    // the last Accept said ErrExhausted
}

// peer is a stream and what its owner knows from events.
type peer struct {
	stack.Stream
	side               *side
	token              stack.Token
	readable, writable bool
	got                []byte
	err                error // how Recv ended
}

func newSide(t *testing.T, inner stack.Stack, cfg *Config) *side {
	t.Helper()
	s := &side{t: t, stack: inner, to: address, next: 1000, streams: map[stack.Token]*peer{}}
	if cfg != nil {
		var err error
		s.stack, err = Over(inner, cfg)
		require.NoError(t, err)
	}
	t.Cleanup(func() { require.NoError(t, s.stack.Close()) })
	return s
}

func (s *side) listen() {
	s.t.Helper()
	l, err := s.stack.Listen(address, 999)
	require.NoError(s.t, err)
	s.l = l
}

func (s *side) add(stream stack.Stream) *peer {
	p := &peer{Stream: stream, side: s, token: s.next}
	s.streams[s.next] = p
	s.next++
	return p
}

func (s *side) dial() *peer {
	s.t.Helper()
	stream, err := s.stack.Dial(s.to, s.next)
	require.NoError(s.t, err)
	return s.add(stream)
}

// poll takes events and accepts.
func (s *side) poll() {
	var events [3]stack.Event
	n := s.stack.Poll(events[:])
	for _, e := range events[:n] {
		if e.Token == 999 {
			s.accept()
			continue
		}
		p := s.streams[e.Token]
		require.NotNil(s.t, p, "an event for nobody: %+v", e)
		p.readable = p.readable || e.Ready&stack.Readable != 0
		p.writable = p.writable || e.Ready&stack.Writable != 0
	}
}

func (s *side) accept() {
	for {
		stream, err := s.l.Accept(s.next)
		s.full = errors.Is(err, stack.ErrExhausted)
		if s.full || errors.Is(err, stack.ErrAgain) {
			return
		}
		require.NoError(s.t, err)
		s.fresh = append(s.fresh, s.add(stream))
	}
}

// pump receives until ErrAgain, but only after an event said so.
func (p *peer) pump() {
	for p.readable && p.err == nil {
		var a, b [700]byte
		n, err := p.Recv([][]byte{a[:], b[:]})
		p.got = append(p.got, a[:min(n, len(a))]...)
		p.got = append(p.got, b[:max(0, n-len(a))]...)
		if errors.Is(err, stack.ErrAgain) {
			p.readable = false
		} else {
			p.err = err
		}
	}
}

// until polls the sides until done; if done never reports true the world is
// broken.
func until(t *testing.T, what string, done func() bool, sides ...*side) {
	t.Helper()
	limit := time.Now().Add(wallclock.Patience)
	for !done() {
		require.True(t, time.Now().Before(limit), "never came: %s", what)
		for _, s := range sides {
			s.poll()
		}
	}
}

func (p *peer) answer() bool {
	return p.writable && !errors.Is(p.Connected(), stack.ErrAgain)
}

// join makes a working connection.
func join(t *testing.T, client, server *side) (a, b *peer) {
	t.Helper()
	if server.l == nil {
		server.listen()
	}
	before := len(server.fresh)
	a = client.dial()
	until(t, "both are connected", func() bool {
		return a.answer() && len(server.fresh) > before && server.fresh[before].answer()
	}, client, server)
	b = server.fresh[before]
	require.NoError(t, a.Connected())
	require.NoError(t, b.Connected())
	return a, b
}

// exchange sends data from p to q, which must get exactly that.
func exchange(t *testing.T, p, q *peer, data []byte) {
	t.Helper()
	q.got = nil
	rest := data
	until(t, "all data arrives", func() bool {
		rest = p.push(rest)
		q.pump()
		require.NoError(t, q.err)
		return len(q.got) >= len(data)
	}, p.side, q.side)
	require.True(t, bytes.Equal(data, q.got), "other bytes came than were sent")
	require.True(t, p.Delivered())
}

// push sends what it can in two pieces and returns the rest.
func (p *peer) push(data []byte) []byte {
	for p.writable && len(data) > 0 {
		n, err := p.Send([][]byte{data[:len(data)/2], data[len(data)/2:]})
		data = data[n:]
		if errors.Is(err, stack.ErrAgain) {
			p.writable = false
		} else {
			require.NoError(p.side.t, err)
		}
	}
	return data
}
