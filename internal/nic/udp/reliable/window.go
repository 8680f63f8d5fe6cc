package reliable

import (
	"math/bits"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// A window records which segments arrived: all before next, none from high on, and in
// between those whose bit is set. next ≤ high ≤ next + WindowSegments. A bit outside
// of that is clear.
type window struct {
	next, high Seq
	bits       [WindowSegments / 64]uint64
}

func (w *window) word(seq Seq) (*uint64, uint64) {
	i := uint32(seq) % WindowSegments
	return &w.bits[i/64], 1 << (i % 64)
}

// has reports whether a segment in the window arrived.
func (w *window) has(seq Seq) bool {
	word, bit := w.word(seq)
	return *word&bit != 0
}

// set records the arrival of a segment in the window.
func (w *window) set(seq Seq) {
	word, bit := w.word(seq)
	*word |= bit
	if !seq.Before(w.high) {
		w.high = seq + 1
	}
}

// forget undoes the latest set; high is its earlier value.
func (w *window) forget(seq, high Seq) {
	word, bit := w.word(seq)
	*word &^= bit
	w.high = high
}

// settle moves next to the first segment that has not arrived.
func (w *window) settle() {
	for w.next != w.high {
		word, bit := w.word(w.next)
		if *word&bit == 0 {
			return
		}
		*word &^= bit
		w.next++
	}
}

// find is the first segment from seq on, but before high, that arrived (want true) or
// did not arrive (want false); high if there is none.
func (w *window) find(seq Seq, want bool) Seq {
	for seq.Before(w.high) {
		i := uint32(seq) % WindowSegments
		word := w.bits[i/64]
		if !want {
			word = ^word
		}
		if word >>= i % 64; word != 0 {
			return earlier(seq.Add(bits.TrailingZeros64(word)), w.high)
		}
		seq = seq.Add(int(64 - i%64))
	}
	return w.high
}

// ranges writes the runs of arrivals beyond next to out. It returns how many, and
// whether that is all of them. If there are too many it writes the oldest, those
// around the latest arrival, and the newest. Each run was reported when it was new,
// but acks get lost.
func (w *window) ranges(out []wire.Range, latest Seq) (n int, all bool) {
	total, at := 0, 0 // number of runs; the first one that does not end before latest
	for seq := w.find(w.next, true); seq != w.high; total++ {
		end := w.find(seq, false)
		if total < len(out) {
			out[total] = wire.Range{First: uint32(seq), End: uint32(end)}
		}
		if !latest.Before(end) {
			at = total + 1
		}
		seq = w.find(end, true)
	}
	if total <= len(out) {
		return total, true
	}
	return w.choose(out, total, at), false
}

// choose is ranges for more runs than fit; at is the run of the latest arrival. It may
// write fewer than fit where the parts overlap.
func (w *window) choose(out []wire.Range, total, at int) int {
	oldest, around := len(out)/4, len(out)/4
	if at < oldest || at >= total-(len(out)-oldest) {
		around = 0
	}
	newest := total - (len(out) - oldest - around)
	n, i := 0, 0
	for seq := w.find(w.next, true); seq != w.high; i++ {
		end := w.find(seq, false)
		if i < oldest || i > at-around && i <= at || i >= newest {
			out[n] = wire.Range{First: uint32(seq), End: uint32(end)}
			n++
		}
		seq = w.find(end, true)
	}
	return n
}
