// Package ranges has lists of byte ranges of a file, as views, storage and collective operations
// pass them on. A regular pattern is one entry, however many ranges it has.
//
// ranges.go builds lists, codec.go is their form in messages, and union.go joins several. The
// package is pure.
package ranges

import (
	"iter"
	"math"
)

// A Run is Count ranges of Len bytes. The first begins at Off, and each begins Stride bytes behind
// the one before. Off, Len and Count are positive (Off may be 0), the ranges do not overlap, and
// the last one ends below 2^63.
type Run struct{ Off, Len, Stride, Count int64 }

// One is the run of one range.
func One(off, length int64) Run { return Run{Off: off, Len: length, Count: 1} }

// Bytes returns the number of bytes.
func (r Run) Bytes() int64 { return r.Len * r.Count }

// End returns where the last range ends.
func (r Run) End() int64 { return r.Off + (r.Count-1)*r.Stride + r.Len }

// valid tells whether a run from outside is what the comment of Run says.
func (r Run) valid() bool {
	if r.Off < 0 || r.Len < 1 || r.Count < 1 || r.Count > 1 && r.Stride <= r.Len || r.Len > math.MaxInt64-r.Off {
		return false
	}
	return r.Count == 1 || r.Stride <= (math.MaxInt64-r.Off-r.Len)/(r.Count-1)
}

// A List is runs in the order of the bytes that they stand for.
type List []Run

// Add adds a run at the end. It joins it with the last one if both are one range, or continue one
// pattern. Empty runs add nothing.
func (l *List) Add(r Run) {
	if r.Count < 1 || r.Len < 1 {
		return
	}
	if r.Count > 1 && r.Stride == r.Len {
		r = One(r.Off, r.Len*r.Count)
	}
	if r.Count == 1 {
		r.Stride = 0
	}
	n := len(*l)
	if n == 0 {
		*l = append(*l, r)
		return
	}
	last := &(*l)[n-1]
	step := r.Off - last.Off - (last.Count-1)*last.Stride // from the last range to the new one
	switch {
	case last.Count == 1 && r.Count == 1 && last.Off+last.Len == r.Off:
		last.Len += r.Len
	case last.Len == r.Len && step > r.Len &&
		(last.Count == 1 || last.Stride == step) && (r.Count == 1 || r.Stride == step):
		last.Stride = step
		last.Count += r.Count
	default:
		*l = append(*l, r)
	}
}

// Bytes returns the number of bytes of all ranges.
func (l List) Bytes() (sum int64) {
	for _, r := range l {
		sum += r.Bytes()
	}
	return sum
}

// Count returns the number of ranges.
func (l List) Count() (sum int64) {
	for _, r := range l {
		sum += r.Count
	}
	return sum
}

// Hull returns the smallest range that has all of them.
func (l List) Hull() (off, end int64) {
	if len(l) == 0 {
		return 0, 0
	}
	off = l[0].Off
	for _, r := range l {
		off, end = min(off, r.Off), max(end, r.End())
	}
	return off, end
}

// All iterates over the ranges.
func (l List) All() iter.Seq2[int64, int64] {
	return func(yield func(off, length int64) bool) {
		for _, r := range l {
			for i := range r.Count {
				if !yield(r.Off+i*r.Stride, r.Len) {
					return
				}
			}
		}
	}
}

// At returns the offset of byte n of the ranges.
func (l List) At(n int64) int64 {
	for _, r := range l {
		if n < r.Bytes() {
			return r.Off + n/r.Len*r.Stride + n%r.Len
		}
		n -= r.Bytes()
	}
	_, end := l.Hull()
	return end
}
