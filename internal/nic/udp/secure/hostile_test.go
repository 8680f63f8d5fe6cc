package secure

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// No byte of an INIT can be changed: no guard makes a request of it.
func TestEveryByteOfAnInitCounts(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		dialler, listener := pair(t, k)
		i := dial(t, dialler)
		cookied(t, i, listener, 0)
		good := i.Packet()
		now := time.Duration(0)
		for off := range good {
			now += StrangerEvery
			bad := bytes.Clone(good)
			bad[off] ^= 1 << (off % 8)
			answer, r, err := listener.Respond(now, alice, bad, nil)
			require.Nil(t, r, "byte %d", off)
			require.Error(t, err, "byte %d", off)
			require.LessOrEqual(t, len(answer), len(bad))
		}
		_, r, err := listener.Respond(now, alice, good, nil)
		require.NoError(t, err)
		require.NotNil(t, r, "the genuine one is still good")
	})
}

// No byte of an answer can be changed, and the genuine one is still accepted
// afterwards.
func TestEveryByteOfAResponseCounts(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		dialler, listener := pair(t, k)
		i := dial(t, dialler)
		good, _, err := requested(t, i, listener).Accept(7, 8)
		require.NoError(t, err)
		for off := range good {
			bad := bytes.Clone(good)
			bad[off] ^= 1 << (off % 8)
			out, err := i.Input(bob, bad)
			require.Equal(t, Ignored, out, "byte %d", off)
			require.Error(t, err, "byte %d", off)
		}
		for n := range good {
			out, err := i.Input(bob, good[:n])
			require.Equal(t, Ignored, out)
			require.Error(t, err)
		}
		if k != (keys{}) { // with this public key there is no shared secret
			bad := bytes.Clone(good)
			clear(bad[wire.ResponseClear : wire.ResponseClear+ephemeralBytes])
			out, err := i.Input(bob, bad)
			require.Equal(t, Ignored, out)
			require.Error(t, err)
		}
		out, err := i.Input(bob, good)
		require.NoError(t, err)
		require.Equal(t, Connected, out)
	})
}

// Short answers are checked too: those with another nonce or id change nothing.
func TestEveryByteThatNamesAnAttemptCounts(t *testing.T) {
	dialler, listener := pair(t, shared(t))
	i := dial(t, dialler)
	retry, _, err := listener.Respond(0, alice, i.Packet(), nil)
	require.ErrorIs(t, err, ErrCookie)
	refused := (&wire.Refused{Code: wire.CodeNobody, Version: wire.Version, To: i.ID(), Nonce: i.clear.Nonce}).Append(nil)
	for _, good := range [][]byte{retry, refused} {
		for off := 4; off < 16; off++ {
			bad := bytes.Clone(good)
			bad[off] ^= 0x10
			out, err := i.Input(bob, bad)
			require.Equal(t, Ignored, out, "byte %d", off)
			require.ErrorIs(t, err, ErrUnexpected)
		}
	}
	out, err := i.Input(bob, retry)
	require.NoError(t, err)
	assert.Equal(t, Again, out)
}

func TestEveryByteOfAPacketCounts(t *testing.T) {
	modes(t, func(t *testing.T, k keys) {
		a, b := joined(t, k)
		good := seal(t, a.Session, a.ID, "forty bytes of a message, more or less")
		for off := range good {
			bad := bytes.Clone(good)
			bad[off] ^= 1 << (off % 8)
			_, err := b.Session.Open(bad)
			require.Error(t, err, "byte %d", off)
		}
		for n := range good {
			_, err := b.Session.Open(bytes.Clone(good[:n]))
			require.Error(t, err, "%d bytes", n)
		}
		_, err := b.Session.Open(good)
		require.NoError(t, err)
	})
}

// A packet is for one side of one connection.
func TestPacketsOfOthers(t *testing.T) {
	a, b := joined(t, shared(t))
	_, err := a.Session.Open(seal(t, a.Session, a.ID, "my own, thrown back"))
	assert.ErrorIs(t, err, ErrForged)
	g := newGuard(t, 3, Config{Key: testKey(t, "a"), Listening: true})
	i := dial(t, newGuard(t, 4, Config{Key: testKey(t, "a")}))
	packet, _, err := requested(t, i, g).Accept(7, 8)
	require.NoError(t, err)
	_, err = i.Input(bob, packet)
	require.NoError(t, err)
	_, err = b.Session.Open(seal(t, i.Peer().Session, 7, "of another connection"))
	assert.ErrorIs(t, err, ErrForged)
	assert.EqualValues(t, 1, b.Session.Stats().Forged)
}

// 10^6 random mutations of real packets: none is accepted anywhere, none causes a
// panic, no answer is larger than its cause.
func TestRandomMutations(t *testing.T) {
	mutations := 1_000_000
	if testing.Short() {
		mutations /= 20
	}
	random := rand.New(rand.NewPCG(7, 7))
	dialler, listener := pair(t, shared(t))
	i := dial(t, dialler)
	first := bytes.Clone(i.Packet())
	r := requested(t, i, listener)
	second := bytes.Clone(i.Packet())
	response, b, err := r.Accept(0xacce, 4003)
	require.NoError(t, err)
	done := dial(t, dialler)
	answer, _, err := requested(t, done, listener).Accept(0xacc2, 4003)
	require.NoError(t, err)
	_, err = done.Input(bob, answer)
	require.NoError(t, err)
	data := seal(t, done.Peer().Session, 1, "something that was sent to another connection")
	// One byte that is certainly wrong, and further random changes.
	mutate := func(b []byte, from int) []byte {
		b = bytes.Clone(b)
		b[from+random.IntN(len(b)-from)] ^= byte(1 + random.IntN(255))
		for range random.IntN(3) {
			b[random.IntN(len(b))] = byte(random.Uint32())
		}
		if random.IntN(4) == 0 {
			b = b[:random.IntN(len(b)+1)]
		}
		return b
	}
	room := make([]byte, 0, wire.InitBytes)
	for n := range mutations {
		switch n % 16 {
		case 0, 1, 2:
			packet := mutate([][]byte{first, second}[n%2], 0)
			answer, r, err := listener.Respond(0, alice, packet, room)
			if r != nil || (err == nil && !bytes.Equal(packet, second)) || len(answer) > len(packet) {
				require.Fail(t, "accepted", "mutation %d: %x", n, packet)
			}
		case 3:
			packet := mutate(response, 4)
			if out, _ := i.Input(bob, packet); out != Ignored && !bytes.Equal(packet, response) {
				require.Fail(t, "accepted", "mutation %d: %x", n, packet)
			}
		default:
			if _, err := b.Session.Open(mutate(data, 0)); err == nil {
				require.Fail(t, "opened", "mutation %d", n)
			}
		}
	}
	assert.Zero(t, b.Session.Stats().Opened)
}

func TestNoAmplification(t *testing.T) {
	_, listener := pair(t, shared(t))
	random := rand.New(rand.NewPCG(1, 1))
	for n := range 2 * wire.InitBytes {
		packet := make([]byte, n)
		for i := range packet {
			packet[i] = byte(random.Uint32())
		}
		for kind := range byte(8) {
			if n > 3 {
				packet[0], packet[1], packet[2], packet[3] = kind, byte(random.IntN(3)), byte(random.IntN(3)), 0
			}
			answer, r, _ := listener.Respond(0, alice, packet, nil)
			require.Nil(t, r)
			require.LessOrEqual(t, len(answer), n)
			require.LessOrEqual(t, len(listener.Reset(0, alice, packet, nil)), n)
		}
	}
}

// An answer to spoofed addresses costs computing time, and no memory.
func TestAFloodKeepsNothing(t *testing.T) {
	dialler, listener := pair(t, shared(t))
	packet := bytes.Clone(dial(t, dialler).Packet())
	room := make([]byte, 0, wire.InitBytes)
	var n uint32
	allocs := testing.AllocsPerRun(1000, func() {
		n++
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 1)
		packet[60] ^= 1
		if n%2 == 0 {
			packet[24]++ // a cookie that no guard made
		}
		_, r, err := listener.Respond(0, from, packet, room)
		if r != nil || err != ErrCookie {
			t.Fatal(err)
		}
	})
	assert.Zero(t, allocs)
	assert.Empty(t, listener.memory.inits)
}
