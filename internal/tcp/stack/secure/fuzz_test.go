package secure

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// recorded is the first packet of a dialler, as a seed for mutations.
func recorded(tb testing.TB) []byte {
	n := newNetwork(1)
	cfg := secretConfig(tb, "k")
	cfg.Inline = true
	client, err := Over(n.stack(), cfg)
	require.NoError(tb, err)
	plain := n.stack()
	l, err := plain.Listen(address, 1)
	require.NoError(tb, err)
	_, err = client.Dial(address, 1)
	require.NoError(tb, err)
	s, err := l.Accept(2)
	require.NoError(tb, err)
	hello := bytes.Clone(s.(*memoryEnd).in)
	require.NotEmpty(tb, hello)
	require.NoError(tb, client.Close())
	return hello
}

// FuzzAccept feeds bytes to the accepting side, in pieces. None of them
// authenticates, so the stream must fail, at the latest after its timeout.
func FuzzAccept(f *testing.F) {
	hello := recorded(f)
	f.Add(hello, uint64(0))
	f.Add(hello[:len(hello)/2], uint64(7))
	f.Add([]byte("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03"), uint64(1))
	f.Add([]byte("\x15\x03\x03\x00\x02\x02\x28"), uint64(2))
	f.Add(bytes.Repeat([]byte("\x14\x03\x03\x00\x01\x01"), 40), uint64(3))
	f.Add(append(bytes.Clone(hello), hello...), uint64(4))
	cfg := secretConfig(f, "k")
	cfg.Inline = true
	now := time.Duration(0)
	cfg.Clock = func() time.Duration { return now }
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		n := newNetwork(seed)
		n.pieceMax = int(seed % 300)
		server, plain := newSide(t, n.stack(), cfg), newSide(t, n.stack(), nil)
		server.listen()
		a := plain.dial()
		for range 3 + len(data) {
			plain.poll()
			server.poll()
			if len(data) > 0 {
				k, err := a.Send([][]byte{data})
				data = data[k:]
				if err != nil && !errors.Is(err, stack.ErrAgain) {
					break
				}
			}
		}
		require.Len(t, server.fresh, 1)
		b := server.fresh[0]
		require.LessOrEqual(t, len(a.Stream.(*memoryEnd).in), 16<<10, "a stranger gets a few kilobytes at most")
		now += HandshakeTimeout
		until(t, "an answer", b.answer, server)
		require.Error(t, b.Connected())
		b.Close()
	})
}

// FuzzTampered changes one byte in either direction. Whatever happens, both sides
// must end, and data must arrive whole or not at all.
func FuzzTampered(f *testing.F) {
	for _, at := range []uint16{0, 1, 3, 5, 9, 43, 300, 1400, 1500, 1800, 2400, 2900, 3400} {
		f.Add(at, byte(1), uint64(at))
	}
	cfg := secretConfig(f, "k")
	cfg.Inline = true
	now := time.Duration(0)
	cfg.Clock = func() time.Duration { return now }
	f.Fuzz(func(t *testing.T, at uint16, flip byte, seed uint64) {
		n := newNetwork(seed)
		n.pieceMax = int(seed % 2000)
		sent := 0
		n.tamper = func(b []byte) {
			if i := int(at) - sent; i >= 0 && i < len(b) {
				b[i] ^= flip
			}
			sent += len(b)
		}
		client, server := newSide(t, n.stack(), cfg), newSide(t, n.stack(), cfg)
		server.listen()
		a := client.dial()
		data := random(seed, 500)
		rest := data
		for round := range 20_000 {
			client.poll()
			server.poll()
			if a.answer() && a.Connected() == nil && a.err == nil {
				n, err := a.Send([][]byte{rest})
				if rest = rest[n:]; err != nil && !errors.Is(err, stack.ErrAgain) {
					break
				}
				a.pump()
			}
			if len(server.fresh) > 0 && server.fresh[0].answer() && server.fresh[0].Connected() == nil {
				server.fresh[0].pump()
			}
			if round == 15_000 {
				now += HandshakeTimeout
			}
		}
		require.True(t, a.answer())
		require.Len(t, server.fresh, 1)
		b := server.fresh[0]
		require.True(t, b.answer())
		require.True(t, bytes.HasPrefix(data, b.got), "other bytes came than were sent")
		if flip == 0 || sent <= int(at) {
			require.Equal(t, data, b.got)
		}
	})
}
