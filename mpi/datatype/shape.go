package datatype

// A shape is a type map (MPI-4.1, 5.1): its bounds and totals as numbers and its bytes
// as layouts. Constructors compute with shapes; a shape that overflowed is never made
// into a Type.
type shape struct {
	size   int // packed bytes
	leaves int // of kind, if it has one

	// The bounds that explicit markers set (MPI-4.1, 5.1.6), if there are any. They may
	// be there without any data.
	marked bool
	lb, ub int

	// The bounds of the data, if size > 0.
	trueLB, trueUB int

	align  int   // the largest of the leaves', 0 if there are none
	kind   Kind  // of all leaves, or KindNone
	grain  grain // of all leaves, or mixed
	native placed
	// wire is native without runs of mixed grain: the same node if there are none.
	wire placed
}

// scalar is the shape of one leaf.
func scalar(k Kind) shape {
	tr := kinds[k]
	p := placed{0, run(tr.size, tr.grain)}
	return shape{size: tr.size, leaves: 1, trueUB: tr.size, align: tr.align, kind: k, grain: tr.grain, native: p, wire: p}
}

// bounds are the lower and the upper bound: those of the markers if there are any, else
// those of the data, with the extent rounded up to the alignment (MPI-4.1, 5.1.6).
func (s *shape) bounds(c *sums) (lb, ub int) {
	switch {
	case s.marked:
		return s.lb, s.ub
	case s.size == 0:
		return 0, 0
	}
	extent := c.sub(s.trueUB, s.trueLB)
	if odd := extent % s.align; odd != 0 {
		return s.trueLB, c.add(s.trueUB, s.align-odd)
	}
	return s.trueLB, s.trueUB
}

// empty is a shape without data or markers that still knows what it has none of.
func (s *shape) empty() shape { return shape{kind: s.kind, grain: s.grain} }

// uniform reports whether all data is of one grain.
func (s *shape) uniform() bool { return s.size == 0 || s.grain != mixed }

// shift moves everything up by off bytes.
func (s shape) shift(c *sums, off int) shape {
	if s.marked {
		s.lb, s.ub = c.add(s.lb, off), c.add(s.ub, off)
	}
	if s.size > 0 {
		s.trueLB, s.trueUB = c.add(s.trueLB, off), c.add(s.trueUB, off)
		s.native, s.wire = s.native.shift(off), s.wire.shift(off)
	}
	return s
}

// repeat is count ≥ 0 times s, stride bytes apart.
func (s shape) repeat(c *sums, count, stride int) shape {
	switch {
	case count == 0:
		return s.empty()
	case count == 1:
		return s
	}
	last := c.mul(count-1, stride)
	down, up := min(last, 0), max(last, 0)
	if s.marked {
		s.lb, s.ub = c.add(s.lb, down), c.add(s.ub, up)
	}
	if s.size == 0 {
		return s
	}
	s.trueLB, s.trueUB = c.add(s.trueLB, down), c.add(s.trueUB, up)
	s.size, s.leaves = c.mul(s.size, count), c.mul(s.leaves, count)
	// Inner products are no larger than those above.
	if c.bad {
		return s
	}
	same := s.wire == s.native
	s.native = s.native.repeat(count, stride)
	if same {
		s.wire = s.native
	} else {
		s.wire = s.wire.repeat(count, stride)
	}
	return s
}

// A collector puts shapes together into one.
type collector struct {
	s            shape
	c            *sums
	any          bool // something was added that has a kind
	native, wire builder
	// split: what is added is of several grains, so that native and wire differ.
	split bool
}

func newCollector(c *sums, split bool) *collector {
	return &collector{c: c, split: split, wire: builder{keepGrains: true}}
}

func (l *collector) add(s shape) {
	if s.marked {
		if !l.s.marked {
			l.s.marked, l.s.lb, l.s.ub = true, s.lb, s.ub
		}
		l.s.lb, l.s.ub = min(l.s.lb, s.lb), max(l.s.ub, s.ub)
	}
	if s.size == 0 {
		if !l.any {
			l.s.kind, l.s.grain = s.kind, s.grain
		}
		return
	}
	if !l.any {
		l.any = true
		l.s.kind, l.s.grain, l.s.trueLB, l.s.trueUB = s.kind, s.grain, s.trueLB, s.trueUB
	}
	if l.s.kind != s.kind {
		l.s.kind = KindNone
	}
	if l.s.grain != s.grain {
		l.s.grain = mixed
	}
	l.s.trueLB, l.s.trueUB = min(l.s.trueLB, s.trueLB), max(l.s.trueUB, s.trueUB)
	l.s.align = max(l.s.align, s.align)
	l.s.size, l.s.leaves = l.c.add(l.s.size, s.size), l.c.add(l.s.leaves, s.leaves)
	if l.c.bad {
		return
	}
	l.native.add(s.native)
	if l.split {
		l.wire.add(s.wire)
	}
}

func (l *collector) done() shape {
	s := l.s
	s.native = l.native.done()
	s.wire = s.native
	if l.split {
		s.wire = l.wire.done()
	}
	return s
}
