package wire

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The runs of a request are groups of runs of equal length and distance, which describe a column of a
// matrix, or a vector type, in a few bytes. A group is
//
//	gap     signed varint    where its first run begins, from the end of the last run before it, or from 0
//	length  varint           of each run, times 2, plus 1 if there are several; 1 ≤ length < 2³²
//	count   varint           of runs, if there are several; 2 ≤ count < 2³²
//	stride  signed varint    from the beginning of a run to that of the next, if there are several
//
// Varints are those of encoding/binary, as short as possible. Offsets are modulo 2⁶⁴.

// GroupBytesMax is the largest group, in bytes.
const GroupBytesMax = 2*binary.MaxVarintLen64 + 2*binary.MaxVarintLen32

// A group is runs of equal length and distance.
type group struct {
	off    uint64
	length uint32
	count  uint32
	stride uint64
}

// end returns where the last run ends.
func (g *group) end() uint64 { return g.off + uint64(g.count-1)*g.stride + uint64(g.length) }

// A RunList encodes runs. The zero value is an empty list.
type RunList struct {
	b      []byte // groups that are complete
	groups int
	last   uint64 // where they end
	open   group
}

// Reset empties the list, and keeps its memory.
func (l *RunList) Reset() { *l = RunList{b: l.b[:0]} }

// Add adds a run, of 1 byte or more.
func (l *RunList) Add(off uint64, length uint32) {
	g := &l.open
	switch {
	case g.count == 0:
	case length != g.length || g.count == math.MaxUint32:
		l.close()
	case g.count == 1:
		g.stride = off - g.off
		g.count = 2
		return
	case off == g.off+uint64(g.count)*g.stride:
		g.count++
		return
	default:
		l.close()
	}
	*g = group{off: off, length: length, count: 1}
}

// close encodes the open group.
func (l *RunList) close() {
	g := &l.open
	if g.count == 0 {
		return
	}
	l.b = binary.AppendVarint(l.b, int64(g.off-l.last))
	if g.count == 1 {
		l.b = binary.AppendUvarint(l.b, uint64(g.length)<<1)
	} else {
		l.b = binary.AppendUvarint(l.b, uint64(g.length)<<1|1)
		l.b = binary.AppendUvarint(l.b, uint64(g.count))
		l.b = binary.AppendVarint(l.b, int64(g.stride))
	}
	l.last = g.end()
	l.groups++
	*g = group{}
}

// Size is how many bytes the list takes at most.
func (l *RunList) Size() int { return len(l.b) + GroupBytesMax }

// Full tells whether the list can take no more than a few runs.
func (l *RunList) Full() bool { return l.groups > math.MaxUint16-8 }

// Append appends a head with the runs of the list.
func (l *RunList) Append(dst []byte, h Head) []byte {
	l.close()
	h.groups = uint16(l.groups)
	return append(h.Append(dst), l.b...)
}

// AppendRun appends a head with one run.
func AppendRun(dst []byte, h Head, off uint64, length uint32) []byte {
	h.groups = 1
	dst = h.Append(dst)
	dst = binary.AppendVarint(dst, int64(off))
	return binary.AppendUvarint(dst, uint64(length)<<1)
}

// parseGroup reads a group behind a run that ends at last. It returns the bytes that follow.
func parseGroup(b []byte, last uint64) (g group, rest []byte, err error) {
	gap, b, err := varint(b)
	if err != nil {
		return g, nil, err
	}
	head, b, err := uvarint(b)
	if err != nil {
		return g, nil, err
	}
	if head>>1 == 0 || head>>1 > math.MaxUint32 {
		return g, nil, fmt.Errorf("%w: a run of %d bytes", ErrRequest, head>>1)
	}
	g = group{off: last + uint64(gap), length: uint32(head >> 1), count: 1}
	if head&1 == 0 {
		return g, b, nil
	}
	count, b, err := uvarint(b)
	if err != nil {
		return g, nil, err
	}
	if count < 2 || count > math.MaxUint32 {
		return g, nil, fmt.Errorf("%w: %d runs of one length", ErrRequest, count)
	}
	stride, b, err := varint(b)
	g.count, g.stride = uint32(count), uint64(stride)
	return g, b, err
}

// uvarint reads a varint.
func uvarint(b []byte) (uint64, []byte, error) {
	x, n := binary.Uvarint(b)
	if n <= 0 || n > 1 && b[n-1] == 0 {
		return 0, nil, fmt.Errorf("%w: a number that is cut off, or not as short as possible", ErrRequest)
	}
	return x, b[n:], nil
}

// varint reads a signed varint.
func varint(b []byte) (int64, []byte, error) {
	u, b, err := uvarint(b)
	x := int64(u >> 1)
	if u&1 != 0 {
		x = ^x
	}
	return x, b, err
}

// Runs calls fn with the runs of the request, in order, until it returns false.
func (r *Request) Runs(fn func(off uint64, length uint32) bool) {
	b, last := r.runs, uint64(0)
	for range r.groups {
		g, rest, err := parseGroup(b, last)
		if err != nil {
			return // ParseRequest has read them
		}
		for i := range g.count {
			if !fn(g.off+uint64(i)*g.stride, g.length) {
				return
			}
		}
		b, last = rest, g.end()
	}
}
