// Package twophase plans collective operations in two phases (del Rosario, Bordawekar and Choudhary,
// 1993): some ranks, the aggregators, read or write the file, each a domain of its own, in few large
// pieces; all ranks exchange the bytes with them. An aggregator works through its domain in rounds,
// one window in each.
//
// The package is pure. Package internal/exchange carries a plan out.
package twophase

import (
	"cmp"
	"math"
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/internal/file/ranges"
)

// A Span is bytes Low to High-1 of the file.
type Span struct{ Low, High int64 }

// Empty tells whether the span has no bytes.
func (s Span) Empty() bool { return s.Low >= s.High }

// Meets tells whether two spans have bytes in common.
func (s Span) Meets(o Span) bool { return max(s.Low, o.Low) < min(s.High, o.High) }

// A Plan says which rank reads or writes which bytes, and when. All ranks make the same one.
type Plan struct {
	// Hulls has, for each rank, the smallest span with all its bytes.
	Hulls       []Span
	Aggregators []int // ranks
	Rounds      int64

	all    Span
	base   int64 // where the first domain would begin if it were aligned
	domain int64 // the length of a domain
	window int64 // the length of a window
}

// New makes the plan of an operation on which the ranks have such hulls. Domains begin at multiples
// of unit, and windows have about buffer bytes.
func New(hulls []Span, aggregators []int, unit, buffer int64) *Plan {
	p := &Plan{Hulls: hulls, Aggregators: aggregators, all: Hull(hulls)}
	if p.all.Empty() {
		return p
	}
	p.base = p.all.Low - p.all.Low%unit
	p.domain = roundUp((p.all.High-p.base-1)/int64(len(aggregators))+1, unit)
	p.window = max(buffer, 1)
	if p.window > unit {
		p.window -= p.window % unit
	}
	p.window = min(p.window, p.domain)
	p.Rounds = (p.domain-1)/p.window + 1
	return p
}

// Bytes is the length of the span that all ranks together have, and WindowBytes that of a window.
func (p *Plan) Bytes() int64       { return max(0, p.all.High-p.all.Low) }
func (p *Plan) WindowBytes() int64 { return p.window }

// roundUp returns the next multiple of unit, or n itself if that would overflow.
func roundUp(n, unit int64) int64 {
	if odd := n % unit; odd != 0 && n <= math.MaxInt64-unit {
		return n + unit - odd
	}
	return n
}

// Hull returns the smallest span that has all others.
func Hull(spans []Span) Span {
	all := Span{math.MaxInt64, 0}
	for _, s := range spans {
		if !s.Empty() {
			all = Span{min(all.Low, s.Low), max(all.High, s.High)}
		}
	}
	return all
}

// Window returns what an aggregator reads or writes in a round.
func (p *Plan) Window(aggregator int, round int64) Span {
	if p.Rounds == 0 {
		return Span{}
	}
	low, high := p.at(int64(aggregator), p.domain, p.base), p.at(int64(aggregator)+1, p.domain, p.base)
	w := Span{max(p.at(round, p.window, low), p.all.Low), min(p.at(round+1, p.window, low), high, p.all.High)}
	if w.Empty() {
		return Span{}
	}
	return w
}

// at returns base + n·length, or the end of the hull if that is lower.
func (p *Plan) at(n, length, base int64) int64 {
	if base >= p.all.High || n > 0 && length > (p.all.High-base)/n {
		return p.all.High
	}
	return base + n*length
}

// Interleaved tells whether the hulls of some ranks overlap. If none do, the ranks can read and
// write their own bytes as well as others could.
func Interleaved(hulls []Span) bool {
	sorted := slices.Clone(hulls)
	slices.SortFunc(sorted, func(a, b Span) int { return cmp.Compare(a.Low, b.Low) })
	end := int64(0)
	for _, s := range sorted {
		if s.Empty() {
			continue
		}
		if s.Low < end {
			return true
		}
		end = s.High
	}
	return false
}

// Spread returns n ranks out of size, as far from each other as possible.
func Spread(n, size int) []int {
	n = max(1, min(n, size))
	ranks := make([]int, n)
	for i := range ranks {
		ranks[i] = i * size / n
	}
	return ranks
}

// Pack moves the bytes of ascending ranges together. buf holds the file from offset low on; after
// Pack it begins with the ranges, one after another.
func Pack(buf []byte, low int64, l ranges.List) []byte {
	n := 0
	for off, length := range l.All() {
		n += copy(buf[n:], buf[off-low:off-low+length])
	}
	return buf[:n]
}

// Unpack undoes Pack.
func Unpack(buf []byte, low int64, l ranges.List) {
	n := l.Bytes()
	for i := len(l) - 1; i >= 0; i-- {
		r := l[i]
		for k := r.Count - 1; k >= 0; k-- {
			n -= r.Len
			copy(buf[r.Off+k*r.Stride-low:], buf[n:n+r.Len])
		}
	}
}

// Gather copies ranges of the file, which buf holds from offset low on, to dst.
func Gather(dst, buf []byte, low int64, l ranges.List) {
	for off, length := range l.All() {
		copy(dst[:length], buf[off-low:])
		dst = dst[length:]
	}
}

// Scatter copies src to ranges of the file, which buf holds from offset low on.
func Scatter(buf []byte, low int64, l ranges.List, src []byte) {
	for off, length := range l.All() {
		copy(buf[off-low:], src[:length])
		src = src[length:]
	}
}
