package store

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"syscall"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A range of handles is divided into slots. A new object takes one handle of the next slot, from the last slot to the first, so
// the records of new objects are adjacent in the database. The handle in the slot is random, for two reasons. Clients cannot
// guess the handles of objects that they were not told about. And a server that lost power, and does not know its last slots,
// gives no handle a second time.
const (
	slotsMin    = 20 // a range has at least 2^20 slots; in a small range a slot has one handle
	drawnMax    = 40 // random bits of a handle, at most
	drawsMax    = 64 // random tries before a linear search for a free handle
	bytesToDraw = 8
)

// drawn is how many of the lower bits of a range's handles are random.
func (r *handleRange) drawn() int {
	return min(max(bits.Len64(r.size())-1-slotsMin, 0), drawnMax)
}

// allocate takes a new handle. It stays taken if the update fails.
func (t *Tx) allocate(space Space) (proto.Handle, error) {
	for i := range t.w.state.ranges {
		r := &t.w.state.ranges[i]
		if r.space != space || r.used >= r.size() {
			continue
		}
		if h, err := t.takeFrom(r); h != 0 || err != nil {
			return h, err
		}
	}
	return 0, fmt.Errorf("store: all handles are in use: %w", syscall.ENOSPC)
}

// takeFrom takes a handle of a range; 0 if all are in use.
func (t *Tx) takeFrom(r *handleRange) (proto.Handle, error) {
	if drawn := r.drawn(); drawn > 0 {
		for range drawsMax {
			h, err := r.draw(t.s.random, uint64(1)<<drawn-1)
			if err != nil {
				return 0, err
			}
			if t.isFree(h) {
				return h, nil
			}
		}
	}
	for tries := r.size(); tries > 0; tries-- {
		h := r.next
		if r.next--; r.next < r.First {
			r.next = r.Last
		}
		if t.isFree(h) {
			return h, nil
		}
	}
	return 0, nil
}

// draw takes a random handle of the next slot, and goes to the slot below. The lowest slot may be smaller than the others.
func (r *handleRange) draw(random io.Reader, mask uint64) (proto.Handle, error) {
	var b [bytesToDraw]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return 0, fmt.Errorf("store: no random handle: %w", err)
	}
	// The slot's first and last handle, counted from the top of the range.
	from := uint64(r.Last-r.next) &^ mask
	to := min(from|mask, r.size()-1)
	h := r.Last - proto.Handle(from+binary.LittleEndian.Uint64(b[:])%(to-from+1))
	if r.next = r.Last; to < r.size()-1 {
		r.next -= proto.Handle(to + 1)
	}
	return h, nil
}

// isFree reports whether a handle belongs to no object, and to no datafile whose bytes are still to be removed.
func (t *Tx) isFree(h proto.Handle) bool {
	key := handleKey(h)
	return t.table(tObjects).Get(key) == nil && t.table(tDead).Get(key) == nil &&
		!(t.s.sweeping.Load() && t.s.files.there(h))
}
