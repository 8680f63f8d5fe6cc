//go:build linux

package kernel

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

func TestNothingAllocates(t *testing.T) {
	a, b := two(t, Options{})
	in := room(8)
	drain := func(count uint64) {
		for want := b.stats.Received + count; b.stats.Received < want; {
			b.Recv(in)
		}
	}
	three := dgram.Packet{To: b.Addr(), Pieces: [][]byte{make([]byte, 20), make([]byte, 30), make([]byte, 16)}}
	large := dgram.Packet{To: b.Addr(), Pieces: [][]byte{make([]byte, 2000), make([]byte, 2000)}}
	mixed := append(run(b.Addr(), 60, 1400), packet(b.Addr(), 10, 1), large, three, packet(b.Addr(), 70000, 1))
	for name, batch := range map[string][]dgram.Packet{
		"one": {packet(b.Addr(), 64, 1)}, "pieces": {three}, "large": {large}, "mixed": mixed,
	} {
		assert.Zero(t, testing.AllocsPerRun(100, func() {
			n, err := a.Send(batch)
			if err != nil || n < len(batch) {
				panic("not sent")
			}
			drain(uint64(min(n, 63)))
		}), name)
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		b.Recv(in)
		b.Stats()
		b.PathMTU(a.Addr())
		if a.d.Arm() {
			a.d.Wake()
			a.d.Sleep(-1)
		}
		a.d.Disarm()
	}), "what is not sending")
}

// Sent and received memory is the caller's again.
func TestNoMemoryIsKept(t *testing.T) {
	a, b := two(t, Options{})
	send(t, a, append(run(b.Addr(), 10, 1400), packet(b.Addr(), 70000, 1), packet(b.Addr(), 1, 1))...)
	send(t, a, dgram.Packet{To: b.Addr(), Pieces: [][]byte{make([]byte, 3000), make([]byte, 3000)}})
	b.streak = streakMany
	receive(t, b, 12)
	for i := range a.d.out.pieces {
		assert.Nil(t, a.d.out.pieces[i].Base)
	}
	for i := range b.d.in.pieces {
		assert.Nil(t, b.d.in.pieces[i].Base)
	}
}
