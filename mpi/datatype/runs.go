package datatype

import (
	"iter"
	"sort"
)

// Runs is Count runs of Len bytes of an element. The first is Off bytes after the element's
// address, and each next one begins Stride bytes after the one before.
type Runs struct{ Off, Len, Stride, Count int }

// Runs returns where the packed bytes from to end-1 of one element lie, in their order. A pattern
// is a few Runs, however many runs it has. Finding the first takes a few steps down the type's
// tree.
func (t *Type) Runs(from, end int) iter.Seq[Runs] {
	return func(yield func(Runs) bool) {
		from, end = max(from, 0), min(end, t.shape.size)
		if p := t.shape.native; from < end {
			p.n.spanRuns(p.off, from, end, yield)
		}
	}
}

// spanRuns yields the runs of the packed bytes from to end-1 of a node placed at offset at, where
// 0 ≤ from < end ≤ n.size. It returns false if yield did.
func (n *node) spanRuns(at, from, end int, yield func(Runs) bool) bool {
	switch n.form {
	case strided:
		return n.spanStrided(at, from, end, yield)
	case loop:
		for i := from / n.body.size; i*n.body.size < end; i++ {
			begin := i * n.body.size
			if !n.body.spanRuns(at+i*n.stride, max(from-begin, 0), min(end-begin, n.body.size), yield) {
				return false
			}
		}
	default:
		for i := sort.SearchInts(n.ends, from+1); from < end; i++ {
			begin := 0
			if i > 0 {
				begin = n.ends[i-1]
			}
			last := min(end, n.ends[i])
			if n.form == blocks {
				if !yield(Runs{Off: at + n.offs[i] + from - begin, Len: last - from, Count: 1}) {
					return false
				}
			} else if p := n.parts[i]; !p.n.spanRuns(at+p.off, from-begin, last-begin, yield) {
				return false
			}
			from = last
		}
	}
	return true
}

func (n *node) spanStrided(at, from, end int, yield func(Runs) bool) bool {
	i, skip := from/n.length, from%n.length
	if skip > 0 || end-from < n.length {
		k := min(n.length-skip, end-from)
		if !yield(Runs{Off: at + i*n.stride + skip, Len: k, Count: 1}) {
			return false
		}
		i, from = i+1, from+k
	}
	if full := (end - from) / n.length; full > 0 {
		if !yield(Runs{Off: at + i*n.stride, Len: n.length, Stride: n.stride, Count: full}) {
			return false
		}
		i, from = i+full, from+full*n.length
	}
	return from == end || yield(Runs{Off: at + i*n.stride, Len: end - from, Count: 1})
}

// Ascending tells whether no basic element begins before the one before it, as in the types of
// files (MPI-4.1, 14.1.1), and whether moreover none overlaps the one before it.
func (t *Type) Ascending() (weak, strict bool) {
	if t.shape.wire.n == nil {
		return true, true
	}
	h := t.shape.wire.n.hull()
	return h.weak, h.strict
}

// A hull describes the order of a node's runs. Offsets are relative to the node's place.
type hull struct {
	first        int // where the first run begins
	last         int // where the last basic element begins, if weak
	end          int // where the last run ends, if weak
	weak, strict bool
}

func (n *node) hull() hull {
	switch n.form {
	case loop:
		return n.body.hull().repeat(n.count, n.stride)
	case strided:
		return n.runHull(0, n.length).repeat(n.count, n.stride)
	case list:
		h := n.parts[0].n.hull().shift(n.parts[0].off)
		for _, p := range n.parts[1:] {
			h = h.then(p.n.hull().shift(p.off))
		}
		return h
	default:
		h := n.runHull(n.offs[0], n.ends[0])
		for i, off := range n.offs[1:] {
			h = h.then(n.runHull(off, n.ends[i+1]-n.ends[i]))
		}
		return h
	}
}

// runHull is the hull of one run. A run of mixed grain counts as single bytes.
func (n *node) runHull(off, length int) hull {
	elem := max(int(n.grain.elem), 1)
	return hull{first: off, last: off + length - elem, end: off + length, weak: true, strict: true}
}

func (h hull) shift(off int) hull {
	h.first, h.last, h.end = h.first+off, h.last+off, h.end+off
	return h
}

// then returns the hull of h followed by next.
func (h hull) then(next hull) hull {
	return hull{
		first: h.first, last: next.last, end: max(h.end, next.end),
		weak:   h.weak && next.weak && next.first >= h.last,
		strict: h.strict && next.strict && next.first >= h.end,
	}
}

func (h hull) repeat(count, stride int) hull {
	if count == 1 {
		return h
	}
	h.weak = h.weak && h.first+stride >= h.last
	h.strict = h.strict && h.first+stride >= h.end
	h.last, h.end = h.last+(count-1)*stride, h.end+(count-1)*stride
	return h
}

// Below returns how many bytes of an element lie below off. The type must be strictly Ascending.
func (t *Type) Below(off int) int {
	p := t.shape.native
	if p.n == nil {
		return 0
	}
	return p.n.below(off - p.off)
}

func (n *node) below(off int) int {
	switch n.form {
	case strided:
		if off <= 0 {
			return 0
		}
		i := 0
		if n.count > 1 {
			i = min(off/n.stride, n.count-1)
		}
		return i*n.length + min(off-i*n.stride, n.length)
	case loop:
		if n.count == 1 {
			return n.body.below(off)
		}
		i := max(0, min((off-n.body.start())/n.stride, n.count-1))
		return i*n.body.size + n.body.below(off-i*n.stride)
	case blocks:
		i := sort.Search(len(n.offs), func(i int) bool { return n.offs[i] >= off }) - 1
		if i < 0 {
			return 0
		}
		begin := 0
		if i > 0 {
			begin = n.ends[i-1]
		}
		return min(begin+off-n.offs[i], n.ends[i])
	default:
		i := sort.Search(len(n.parts), func(i int) bool { return n.parts[i].off+n.parts[i].n.start() >= off }) - 1
		if i < 0 {
			return 0
		}
		begin := 0
		if i > 0 {
			begin = n.ends[i-1]
		}
		return begin + n.parts[i].n.below(off-n.parts[i].off)
	}
}

// start is where the first run begins, relative to the node's place.
func (n *node) start() int {
	switch n.form {
	case loop:
		return n.body.start()
	case blocks:
		return n.offs[0]
	case list:
		return n.parts[0].off + n.parts[0].n.start()
	}
	return 0
}
