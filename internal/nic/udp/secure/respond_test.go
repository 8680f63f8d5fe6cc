package secure

import (
	"bytes"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// The cookie is for one address, port, nonce and id, and for two slots.
func TestCookies(t *testing.T) {
	c := cookies{random: seeded(1)}
	require.NoError(t, c.turn(3*time.Second))
	m := wire.Init{From: 7, Nonce: 8}
	m.Cookie = c.give(alice, &m)
	assert.True(t, c.good(alice, &m))
	mapped := netip.AddrPortFrom(netip.AddrFrom16(alice.Addr().As16()), alice.Port())
	assert.True(t, c.good(mapped, &m), "the same address of IPv4, written as one of IPv6")
	assert.False(t, c.good(bob, &m), "another address")
	assert.False(t, c.good(netip.AddrPortFrom(alice.Addr(), alice.Port()+1), &m), "another port")
	for name, change := range map[string]func(*wire.Init){
		"nonce": func(m *wire.Init) { m.Nonce++ }, "from": func(m *wire.Init) { m.From++ }, "cookie": func(m *wire.Init) { m.Cookie[31] ^= 1 },
	} {
		other := m
		change(&other)
		assert.False(t, c.good(alice, &other), name)
	}
	require.NoError(t, c.turn(9999*time.Millisecond))
	assert.True(t, c.good(alice, &m), "in the next slot")
	require.NoError(t, c.turn(10*time.Second))
	assert.False(t, c.good(alice, &m), "in the one after it")
	again := m
	again.Cookie = c.give(alice, &again)
	require.NoError(t, c.turn(time.Hour))
	assert.False(t, c.good(alice, &again), "slots that nobody asked in count")
}

func TestACookieFromElsewhereIsAnsweredWithAnother(t *testing.T) {
	dialler, listener := pair(t, shared(t))
	i := dial(t, dialler)
	cookied(t, i, listener, 0)
	packet := i.Packet()
	for _, from := range []netip.AddrPort{bob, netip.AddrPortFrom(alice.Addr(), 1)} {
		answer, r, err := listener.Respond(0, from, packet, nil)
		require.ErrorIs(t, err, ErrCookie)
		require.Nil(t, r)
		m, err := wire.ParseRetry(answer)
		require.NoError(t, err)
		// An attacker who recorded the INIT can get a cookie for its own address. The sealed part was not made with that one.
		stolen := bytes.Clone(packet)
		copy(stolen[24:], m.Cookie[:])
		_, r, err = listener.Respond(0, from, stolen, nil)
		require.ErrorIs(t, err, ErrKey)
		require.Nil(t, r)
	}
}

func TestTheSameInitAgain(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		dialler, listener := pair(t, k)
		i := dial(t, dialler)
		r := requested(t, i, listener)
		packet := i.Packet()
		again := func(now time.Duration) []byte {
			answer, r, err := listener.Respond(now, alice, packet, nil)
			require.NoError(t, err)
			require.Nil(t, r, "a second request")
			return answer
		}
		assert.Empty(t, again(time.Second), "before it is decided")
		response, _, err := r.Accept(7, 8)
		require.NoError(t, err)
		assert.Equal(t, response, again(time.Second))
		assert.Equal(t, response, again(InitLife-1))
		_, r, err = listener.Respond(InitLife, alice, packet, nil)
		assert.ErrorIs(t, err, ErrCookie, "its cookie is not good any more")
		assert.Nil(t, r)
	})
}

// An attempt outlives the key of its cookie, and the other side's memory.
func TestAnAttemptOutlivesItsCookie(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		dialler, listener := pair(t, k)
		i := dial(t, dialler)
		cookied(t, i, listener, 0)
		i.Packet()                        // lost
		cookied(t, i, listener, InitLife) // and sent again much later
		_, r, err := listener.Respond(InitLife, alice, i.Packet(), nil)
		require.NoError(t, err)
		packet, _, err := r.Accept(7, 8)
		require.NoError(t, err)
		out, err := i.Input(bob, packet)
		require.NoError(t, err)
		assert.Equal(t, Connected, out)
	})
}

// RETRYs cannot keep an attempt from being answered.
func TestRetriesAreTakenOneAtATime(t *testing.T) {
	dialler, listener := pair(t, shared(t))
	i := dial(t, dialler)
	other := func(n byte) []byte {
		return (&wire.Retry{To: i.ID(), Nonce: i.clear.Nonce, Cookie: wire.Cookie{n}}).Append(nil)
	}
	cookied(t, i, listener, 0)
	for n := range byte(3) {
		out, err := i.Input(bob, other(n+1))
		assert.Equal(t, Ignored, out)
		assert.ErrorIs(t, err, ErrUnexpected)
		i.sends = 1
	}
	i.Packet()
	out, err := i.Input(bob, other(9))
	require.NoError(t, err)
	assert.Equal(t, Again, out, "two INITs had no other answer")
}

func TestMemoryIsBounded(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		const most = 8
		listener := newGuard(t, 2, k.of(t, "listener", Config{Listening: true, InitsMax: most}))
		now := time.Duration(0)
		for round := range 3 {
			for n := range most + 2 {
				i := dial(t, newGuard(t, uint64(100*round+n), k.of(t, "dialler", Config{})))
				cookied(t, i, listener, now)
				answer, r, err := listener.Respond(now, alice, i.Packet(), nil)
				if n < most {
					require.NoError(t, err)
					if n%2 == 0 { // that does not make room either
						_, err = r.Refuse(wire.CodeBusy)
						require.NoError(t, err)
					}
					continue
				}
				require.Nil(t, r)
				assert.ErrorContains(t, refused(t, i, answer), "no room")
			}
			now += InitLife
		}
		listener.memory.expire(now)
		assert.Empty(t, listener.memory.inits)
		assert.Nil(t, listener.memory.oldest)
		assert.Zero(t, listener.memory.size)
	})
}

func TestReset(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		a, _ := joined(t, k)
		packet := seal(t, a.Session, a.ID, strings.Repeat("t", wire.TransportLen))
		// The device that was connected to comes back, with the same name.
		restarted := newGuard(t, 77, k.of(t, "listener", Config{Listening: true, Name: "listener"}))
		answer := restarted.Reset(0, alice, packet, nil)
		require.NotEmpty(t, answer)
		assert.Less(t, len(answer), len(packet))
		m, err := wire.ParseReset(answer)
		require.NoError(t, err)
		assert.Equal(t, a.ID, m.To)
		assert.True(t, SameToken(a.Token, m.Token))
		other := newGuard(t, 77, k.of(t, "listener", Config{Listening: true, Name: "another"}))
		assert.False(t, SameToken(a.Token, other.Token(a.ID, alice.Addr())))
		assert.False(t, SameToken(a.Token, restarted.Token(a.ID+1, alice.Addr())))
		assert.Empty(t, restarted.Reset(0, alice, answer, nil), "a RESET is not answered")
		assert.Empty(t, restarted.Reset(0, alice, packet[:wire.ResetBytes-1], nil), "nor what is shorter than one")
	})
	withKey := newGuard(t, 1, Config{Key: testKey(t, "a"), Listening: true, Name: "n"})
	otherKey := newGuard(t, 1, Config{Key: testKey(t, "b"), Listening: true, Name: "n"})
	assert.NotEqual(t, withKey.Token(5, alice.Addr()), otherKey.Token(5, alice.Addr()))
}

// An attacker who sees a packet of a connection knows its id. Neither another device of the group nor the right one sends the
// connection's token to another host.
func TestTokensAreNotTold(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		const name = "[::]:7000"
		here := newGuard(t, 1, k.of(t, "listener", Config{Listening: true, Name: name, Place: "here"}))
		there := newGuard(t, 2, k.of(t, "listener", Config{Listening: true, Name: name, Place: "there"}))
		told := here.Token(5, alice.Addr())
		packet := wire.Packet{To: 5}.Append(make([]byte, 0, 64))[:64]
		asks := func(g *Guard, from netip.AddrPort) wire.Token {
			m, err := wire.ParseReset(g.Reset(0, from, packet, nil))
			require.NoError(t, err)
			return m.Token
		}
		assert.Equal(t, told, asks(here, alice))
		assert.Equal(t, told, asks(here, netip.AddrPortFrom(netip.AddrFrom16(alice.Addr().As16()), 1)), "the other lane")
		assert.NotEqual(t, told, asks(here, bob))
		assert.NotEqual(t, told, asks(there, alice))
	})
}

// TestRenewBesideTokens: keys are checked while the device makes tokens. The race detector is the judge.
func TestRenewBesideTokens(t *testing.T) {
	g := newGuard(t, 1, Config{Key: testKey(t, "a"), Listening: true, Name: "n"})
	before := g.Token(5, alice.Addr())
	var making sync.WaitGroup
	making.Go(func() {
		for range 1000 {
			assert.Equal(t, before, g.Token(5, alice.Addr()))
		}
	})
	var use func()
	for range 100 {
		var ok bool
		use, ok = g.Renew(testKey(t, "b"), nil)
		assert.True(t, ok)
	}
	making.Wait()
	use()
	assert.NotEqual(t, before, g.Token(5, alice.Addr()))
}

func TestResetsAreFew(t *testing.T) {
	g := newGuard(t, 1, Config{})
	packet := make([]byte, 64)
	wire.Packet{To: 9}.Append(packet[:0])
	room := make([]byte, 0, 64)
	count := func(now time.Duration) (n int) {
		for range 10 * ResetBurst {
			if len(g.Reset(now, alice, packet, room)) > 0 {
				n++
			}
		}
		return n
	}
	assert.Equal(t, ResetBurst, count(time.Hour))
	assert.Equal(t, 10, count(time.Hour+10*ResetEvery))
	assert.Equal(t, ResetBurst, count(2*time.Hour))
	assert.Zero(t, testing.AllocsPerRun(100, func() { g.Reset(3*time.Hour, alice, packet, room) }))
}

// TestDamagedCookie: a RETRY with a damaged cookie delays an attempt but does not end it: the answer to the earlier INIT still
// counts.
func TestDamagedCookie(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		dialler, listener := pair(t, k)
		i := dial(t, dialler)
		retry, _, err := listener.Respond(0, alice, i.Packet(), nil)
		require.ErrorIs(t, err, ErrCookie)
		take := func(packet []byte) {
			out, err := i.Input(bob, packet)
			require.NoError(t, err)
			require.Equal(t, Again, out)
		}
		take(retry)
		first := bytes.Clone(i.Packet())
		_, r, err := listener.Respond(0, alice, first, nil)
		require.NoError(t, err)
		require.NotNil(t, r)
		answer, err := r.Reject([]byte("no"))
		require.NoError(t, err)

		i.Packet() // a second time: the answer is late
		damaged := bytes.Clone(retry)
		damaged[len(damaged)-1] ^= 1
		take(damaged)
		require.NotEqual(t, first, i.Packet())
		retry, _, err = listener.Respond(time.Millisecond, alice, i.Packet(), nil)
		require.ErrorIs(t, err, ErrCookie)
		take(retry)
		require.Equal(t, first, i.Packet())
		out, err := i.Input(bob, answer)
		require.Equal(t, Failed, out)
		var rejected *RejectedError
		require.ErrorAs(t, err, &rejected)
		require.Equal(t, "no", string(rejected.Reason))
	})
}
