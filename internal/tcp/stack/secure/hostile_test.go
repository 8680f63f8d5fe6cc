package secure

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

func TestPlainDialler(t *testing.T) {
	for name, hello := range map[string]string{
		"magic number of tcp": "\xbf\xca\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00",
		"text":                "GET / HTTP/1.1\r\n\r\n", "zeros": "\x00\x00\x00\x00\x00\x00\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			worlds(t, func(t *testing.T, inline bool) {
				n := newNetwork(1)
				_, server := pair(t, n, inline)
				server.listen()
				plain := newSide(t, n.stack(), nil)
				a := plain.dial()
				until(t, "the listener is sure", func() bool {
					if a.writable && len(hello) > 0 {
						k, err := a.Send([][]byte{[]byte(hello)})
						require.NoError(t, err)
						hello = hello[k:]
					}
					return len(server.fresh) > 0 && server.fresh[0].answer()
				}, plain, server)
				err := server.fresh[0].Connected()
				require.ErrorIs(t, err, stack.ErrIdentity)
				assert.Contains(t, err.Error(), "tcp:// rather than tcps://")
				server.fresh[0].Close()
				until(t, "the dialler hears of it", func() bool { a.pump(); return a.err != nil }, plain, server)
				hello = "again" // for the next of the worlds
			})
		})
	}
}

func TestPlainListener(t *testing.T) {
	for name, test := range map[string]struct {
		answer string
		want   error
	}{
		"that closes": {"", stack.ErrIdentity}, "that talks": {"hello, who is there?", stack.ErrIdentity},
	} {
		t.Run(name, func(t *testing.T) {
			worlds(t, func(t *testing.T, inline bool) {
				n := newNetwork(1)
				client, _ := pair(t, n, inline)
				plain := newSide(t, n.stack(), nil)
				plain.listen()
				a := client.dial()
				until(t, "something arrives", func() bool {
					if len(plain.fresh) > 0 {
						plain.fresh[0].pump()
					}
					return len(plain.fresh) > 0 && len(plain.fresh[0].got) > 100
				}, client, plain)
				if test.answer != "" {
					_, err := plain.fresh[0].Send([][]byte{[]byte(test.answer)})
					require.NoError(t, err)
				}
				require.NoError(t, plain.fresh[0].Finish())
				until(t, "the dialler is sure", a.answer, client, plain)
				require.ErrorIs(t, a.Connected(), test.want)
				assert.Contains(t, a.Connected().Error(), "tcp:// rather than tcps://")
			})
		})
	}
}

func TestNobodyListens(t *testing.T) {
	client, _ := pair(t, newNetwork(1), false)
	a := client.dial()
	until(t, "refused", a.answer, client)
	require.ErrorIs(t, a.Connected(), stack.ErrRefused)
	a.Close()
}

func TestResetDuringTheHandshakeIsNoQuestionOfIdentity(t *testing.T) {
	worlds(t, func(t *testing.T, inline bool) {
		n := newNetwork(1)
		client, _ := pair(t, n, inline)
		plain := newSide(t, n.stack(), nil)
		plain.listen()
		a := client.dial()
		until(t, "the hello is there", func() bool {
			return len(plain.fresh) > 0 && plain.fresh[0].readable && len(plain.fresh[0].Stream.(*memoryEnd).in) > 0
		}, client, plain)
		plain.fresh[0].Close()
		until(t, "broken", a.answer, client, plain)
		require.ErrorIs(t, a.Connected(), errReset)
		assert.NotErrorIs(t, a.Connected(), stack.ErrIdentity)
	})
}

func TestHalfAHandshakeTimesOut(t *testing.T) {
	worlds(t, func(t *testing.T, inline bool) {
		n := newNetwork(1)
		now := time.Duration(0)
		cfg := secretConfig(t, "k")
		cfg.Inline, cfg.Clock = inline, func() time.Duration { return now }
		server := newSide(t, n.stack(), cfg)
		server.listen()
		plain := newSide(t, n.stack(), nil)
		a := plain.dial()
		until(t, "half a hello is sent", func() bool {
			if a.writable {
				_, err := a.Send([][]byte{{22, 3, 1, 1, 0, 1, 0}})
				require.NoError(t, err)
			}
			return a.writable && len(server.fresh) > 0
		}, plain, server)
		b := server.fresh[0]
		for now < HandshakeTimeout-time.Millisecond {
			server.poll()
			require.ErrorIs(t, b.Connected(), stack.ErrAgain)
			now += time.Millisecond
		}
		now = HandshakeTimeout
		until(t, "given up", b.answer, server)
		require.ErrorIs(t, b.Connected(), os.ErrDeadlineExceeded)
		assert.NotErrorIs(t, b.Connected(), stack.ErrIdentity)
		b.Close()
		until(t, "the other side hears of it", func() bool { a.pump(); return a.err != nil }, plain, server)
	})
}

func TestASleepingOwnerHearsOfATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(1)
		server := newSide(t, n.stack(), secretConfig(t, "k"))
		server.listen()
		plain := newSide(t, n.stack(), nil)
		plain.dial()
		until(t, "accepted", func() bool { return len(server.fresh) > 0 }, server)
		began := time.Now()
		slept := awake(t, server, server.fresh[0].answer)
		require.Positive(t, slept)
		require.Equal(t, began.Add(HandshakeTimeout), time.Now())
		require.ErrorIs(t, server.fresh[0].Connected(), os.ErrDeadlineExceeded)
	})
}

// awake polls a side like an owner that sleeps without limit when there is
// nothing to do.
func awake(t *testing.T, s *side, done func() bool) (slept int) {
	t.Helper()
	sleeper := s.stack.(stack.Sleeper)
	for !done() {
		s.poll()
		if done() {
			break
		}
		if sleeper.Arm() {
			slept++
			woken := make(chan struct{})
			go func() { defer close(woken); sleeper.Sleep(-1) }()
			select {
			case <-woken:
			case <-time.After(wallclock.Patience):
				sleeper.Wake()
				<-woken
				require.Fail(t, "slept for ever")
			}
		}
		sleeper.Disarm()
	}
	return slept
}

func TestASleepingOwnerHearsOfAHandshake(t *testing.T) {
	n := newNetwork(1)
	client, server := pair(t, n, false)
	server.listen()
	a := client.dial()
	// Only the goroutines of the handshakes wake either side here, because the
	// memory stack reports its events before Arm.
	for !a.answer() || len(server.fresh) == 0 || !server.fresh[0].answer() {
		for _, s := range []*side{client, server} {
			s.poll()
			for _, p := range s.streams {
				if inner := p.Stream.(*stream); inner.state == stateShaking && len(inner.inner.(*memoryEnd).in) == 0 {
					awaitNote(t, inner)
				}
			}
		}
	}
	require.NoError(t, a.Connected())
}

// awaitNote waits until a handshake needs its owner and has said so.
func awaitNote(t *testing.T, s *stream) {
	t.Helper()
	s.hs.settle()
	s.hs.mu.Lock()
	news := s.hs.ended || len(s.hs.out) > 0
	s.hs.mu.Unlock()
	if news {
		require.False(t, (&sleeper{Stack: s.owner, below: s.owner.inner.(stack.Sleeper)}).Arm(), "a note was lost")
	}
}

func TestHandshakesAreLimited(t *testing.T) {
	worlds(t, func(t *testing.T, inline bool) {
		n := newNetwork(1)
		now := time.Duration(0)
		cfg := secretConfig(t, "k")
		cfg.Inline, cfg.HandshakesMax, cfg.Clock = inline, 3, func() time.Duration { return now }
		server := newSide(t, n.stack(), cfg)
		server.listen()
		plain := newSide(t, n.stack(), nil)
		for range 5 {
			plain.dial()
		}
		client := newSide(t, n.stack(), secretConfig(t, "k"))
		a := client.dial()
		for range 100 {
			server.poll()
			client.poll()
			require.LessOrEqual(t, server.stack.(*sleeper).shaking, 3)
		}
		require.Len(t, server.fresh, 3)
		require.Len(t, n.listeners[address].wait, 3, "the others wait below")
		now += HandshakeTimeout
		until(t, "the next have their turn", func() bool { return len(server.fresh) == 6 }, server, client, plain)
		until(t, "the good one gets through", a.answer, client, server)
		require.NoError(t, a.Connected())
	})
}

func TestTooManyNobodyAccepts(t *testing.T) {
	n := newNetwork(1)
	cfg := secretConfig(t, "k")
	cfg.HandshakesMax = 3
	server, client := newSide(t, n.stack(), cfg), newSide(t, n.stack(), cfg)
	l, err := server.stack.Listen(address, 5)
	require.NoError(t, err)
	var all []*peer
	for range 8 {
		all = append(all, client.dial())
	}
	connected := func() (n int) {
		for _, p := range all {
			if p.answer() {
				require.NoError(t, p.Connected())
				n++
			}
		}
		return n
	}
	var events [4]stack.Event
	poll := func() { client.poll(); server.stack.Poll(events[:]) }
	limit := time.Now().Add(wallclock.Patience)
	for connected() < 3 {
		poll()
		require.True(t, time.Now().Before(limit))
	}
	for range 100 {
		poll()
	}
	require.Equal(t, 3, connected(), "the others wait below")
	for accepted := 0; accepted < 8; poll() {
		require.True(t, time.Now().Before(limit))
		if _, err := l.Accept(stack.Token(10 + accepted)); err == nil {
			accepted++
		}
	}
	for connected() < 8 {
		poll()
		require.True(t, time.Now().Before(limit))
	}
}

func TestTamperedRecordBreaksTheStream(t *testing.T) {
	n := newNetwork(1)
	client, server := pair(t, n, false)
	a, b := join(t, client, server)
	n.tamper = func(b []byte) { b[len(b)-1] ^= 1 }
	a.push([]byte("data"))
	until(t, "broken", func() bool { b.pump(); return b.err != nil }, client, server)
	require.ErrorContains(t, b.err, "bad record MAC")
	assert.NotErrorIs(t, b.err, stack.ErrIdentity)
	assert.Empty(t, b.got)
	n.tamper = nil
	until(t, "the other side is told", func() bool { a.pump(); return a.err != nil }, client, server)
	require.Error(t, a.err)
}

func TestCloseEndsTheGoroutine(t *testing.T) {
	n := newNetwork(1)
	client, server := pair(t, n, false)
	server.listen()
	a := client.dial() // the server is not polled: it never answers
	until(t, "shaking", func() bool { return a.Stream.(*stream).state == stateShaking }, client)
	a.Close()
	require.NoError(t, client.stack.Close()) // waits for the goroutine
	require.ErrorIs(t, a.Connected(), os.ErrClosed)
	_, err := a.Recv([][]byte{make([]byte, 1)})
	require.ErrorIs(t, err, os.ErrClosed)
}
