package dgramtest

import (
	"errors"
	"slices"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

var bufferTests = []test{
	{"a receiver that is not there", overflow},
	{"a sender that does not stop", func(t T, w *world) {
		a, b := w.pair()
		b.away = true // whether these arrive is not tested here
		if fill(a, b) {
			w.until("there is room again", func() bool { return a.try([]dgram.Packet{one(b)}) == 1 })
		}
		w.recover(a, b)
	}},
	{"what was not taken is untouched", func(t T, w *world) {
		a, b := w.pair()
		b.away = true
		if !fill(a, b) {
			t.Skip("the device always has room")
		}
		batch := []dgram.Packet{a.packet(b, w.payload(100))}
		want := slices.Clone(batch[0].Pieces[0])
		n, err := a.Send(batch)
		a.taken += uint64(n)
		if errors.Is(err, dgram.ErrAgain) {
			a.full++
			assert.Equal(t, want, batch[0].Pieces[0])
			assert.Equal(t, b.at, batch[0].To)
			assert.False(t, batch[0].TooBig)
		}
		w.recover(a, b)
	}},
}

// floodPackets is more than any buffer holds, of floodBytes each.
const floodPackets, floodBytes = 4000, 1000

// overflow sends until the receiver's buffer must be full. Dropped packets must
// be counted, the rest must be unchanged, and the socket must still work.
func overflow(t T, w *world) {
	a, b := w.pair()
	b.away = true
	for range floodPackets / 50 {
		a.give(b, w.payloads(50, floodBytes)...)
		if w.s.Step != nil {
			w.s.Step()
		}
	}
	w.settle()
	b.away = false
	w.settle()
	missing := len(w.due)
	w.recover(a, b)
	if missing > 0 {
		assert.Positive(t, b.Stats().Overflowed)
	}
	assert.LessOrEqual(t, b.Stats().Overflowed, uint64(missing))
	assert.Positive(t, b.received)
}

// recover gives up the packets still due, and shows that a and b work.
func (w *world) recover(a, b *sock) {
	b.away = true
	w.settle()
	w.until("quiet", func() bool { return b.waste() == 0 })
	b.away = false
	clear(w.due)
	for range 3 {
		a.give(b, w.payload(100))
		b.give(a, w.payload(100))
		w.arrived()
	}
}

// waste receives packets that are not in the ledger.
func (s *sock) waste() (n int) {
	n = s.Recv(s.room)
	for _, a := range s.room[:n] {
		s.received += uint64((a.Len + a.Size - 1) / a.Size)
		s.bytes += uint64(a.Len)
	}
	return n
}

func one(to *sock) dgram.Packet {
	return dgram.Packet{To: to.at, Pieces: [][]byte{make([]byte, floodBytes)}}
}

// fill sends until there is no room, or long enough to show that there always is.
func fill(a, b *sock) (full bool) {
	for sent := 0; sent < floodPackets; sent += 20 {
		batch := make([]dgram.Packet, 20)
		for i := range batch {
			batch[i] = one(b)
		}
		if a.try(batch) < len(batch) {
			require.NotZero(a.d.w.t, a.Stats().Full)
			return true
		}
	}
	return false
}
