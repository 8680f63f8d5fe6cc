package datatype_test

import (
	"slices"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
)

// A leaf is an entry of a type map: a basic element at a displacement.
type leaf struct {
	disp, size, unit, align int
}

// A model is a type as the standard defines it: its type map, written out, and the
// displacements of explicit bounds. It is slow and obvious; package datatype is held
// against it.
type model struct {
	leaves   []leaf
	lbs, ubs []int
}

func scalarModel(size, unit, align int) model {
	return model{leaves: []leaf{{0, size, unit, align}}}
}

// bounds is MPI-4.1, 5.1.6 and 5.1.7, word by word.
func (m model) bounds() (lb, extent int) {
	if len(m.lbs) > 0 {
		lb = slices.Min(m.lbs)
		return lb, slices.Max(m.ubs) - lb
	}
	if len(m.leaves) == 0 {
		return 0, 0
	}
	lb, trueExtent := m.trueBounds()
	align := 1
	for _, l := range m.leaves {
		align = max(align, l.align)
	}
	for extent = trueExtent; extent%align != 0; extent++ {
	}
	return lb, extent
}

func (m model) trueBounds() (lb, extent int) {
	if len(m.leaves) == 0 {
		return 0, 0
	}
	lb = m.leaves[0].disp
	ub := lb
	for _, l := range m.leaves {
		lb, ub = min(lb, l.disp), max(ub, l.disp+l.size)
	}
	return lb, ub - lb
}

func (m model) size() (n int) {
	for _, l := range m.leaves {
		n += l.size
	}
	return n
}

// add appends the leaves of o, moved up by disp bytes.
func (m *model) add(o model, disp int) {
	for _, l := range o.leaves {
		l.disp += disp
		m.leaves = append(m.leaves, l)
	}
	for i := range o.lbs {
		m.lbs = append(m.lbs, o.lbs[i]+disp)
		m.ubs = append(m.ubs, o.ubs[i]+disp)
	}
}

// addBlock puts n of o, an extent apart, at disp.
func (m *model) addBlock(o model, n, disp int) {
	_, extent := o.bounds()
	for i := range n {
		m.add(o, disp+i*extent)
	}
}

func (m model) resized(lb, extent int) model {
	return model{m.leaves, []int{lb}, []int{lb + extent}}
}

// elements is count of m, as a buffer has them.
func (m model) elements(count int) (all model) {
	all.addBlock(m, count, 0)
	return all
}

// arrayModel is the elements of an array for which mine is true, in the array's order.
func arrayModel(o model, sizes []int, order datatype.Order, mine func(index []int) bool) (m model) {
	_, extent := o.bounds()
	total := 1
	for _, n := range sizes {
		total *= n
	}
	index := make([]int, len(sizes))
	for at := range total {
		rest := at
		for i := range sizes {
			d := i
			if order == datatype.OrderC {
				d = len(sizes) - 1 - i
			}
			index[d], rest = rest%sizes[d], rest/sizes[d]
		}
		if mine(index) {
			m.add(o, at*extent)
		}
	}
	return m.resized(0, total*extent)
}

// pack walks the type map; external turns units around.
func (m model) pack(mem []byte, origin int, external bool) (out []byte) {
	for _, l := range m.leaves {
		b := slices.Clone(mem[origin+l.disp:][:l.size])
		if external {
			turn(b, l.unit)
		}
		out = append(out, b...)
	}
	return out
}

// unpack walks the type map as far as src goes: to a byte, or to a unit for external.
func (m model) unpack(mem []byte, origin int, src []byte, external bool) (n int) {
	for _, l := range m.leaves {
		b := slices.Clone(src[n:min(len(src), n+l.size)])
		if external {
			b = b[:len(b)/l.unit*l.unit]
			turn(b, l.unit)
		}
		n += copy(mem[origin+l.disp:], b)
		if len(b) < l.size {
			break
		}
	}
	return n
}

func turn(b []byte, unit int) {
	for i := 0; i < len(b); i += unit {
		slices.Reverse(b[i:][:unit])
	}
}

// overlaps reports whether two leaves have a byte in common.
func (m model) overlaps() bool {
	sorted := slices.Clone(m.leaves)
	slices.SortFunc(sorted, func(a, b leaf) int { return a.disp - b.disp })
	for i := 1; i < len(sorted); i++ {
		if sorted[i-1].disp+sorted[i-1].size > sorted[i].disp {
			return true
		}
	}
	return false
}
