package datatype

// A shape is a type map (MPI-4.1, 5.1): its bounds and totals as numbers, and its bytes as layouts.
// Constructors compute with shapes; a shape whose numbers overflowed never becomes a Type.
type shape struct {
	size     int // packed bytes
	external int // packed bytes in external32, at most size
	leaves   int // of one kind, if kind is set

	// The bounds set by explicit markers (MPI-4.1, 5.1.6), if marked. There may be markers without
	// data.
	marked bool
	lb, ub int

	// The bounds of the data, if size > 0.
	trueLB, trueUB int

	align  int   // the largest alignment of the leaves, 0 if there are none
	kind   Kind  // of all leaves, or KindNone
	grain  grain // of all leaves, or mixed
	native placed
	// wire is native without runs of mixed grain: the same node if there are none.
	wire placed
	// converts: to external32, more must be done than to swap bytes.
	converts bool
}

// scalar returns the shape of one leaf.
func scalar(k Kind) shape {
	tr, e := kinds[k], externals[k]
	return shape{kind: k, external: e.size(k), converts: e.encode != nil}.leaf(tr.size, tr.align, grain{tr.units, k})
}

// leaf returns s as a type of one leaf. Fields kind, external and converts of s must be set.
func (s shape) leaf(size, align int, g grain) shape {
	p := placed{0, run(size, g)}
	s.size, s.leaves, s.trueUB, s.align, s.grain, s.native, s.wire = size, 1, size, align, g, p, p
	return s
}

// bounds returns the lower and the upper bound. If there are markers, the bounds are theirs.
// Otherwise they are those of the data, and the extent is rounded up to the alignment (MPI-4.1,
// 5.1.6).
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

// empty returns a shape without data or markers, but with the kind and the grain of s.
func (s *shape) empty() shape { return shape{kind: s.kind, grain: s.grain} }

// uniform reports whether all data have one grain.
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

// repeat returns count times s, stride bytes apart; count ≥ 0.
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
	s.size, s.external, s.leaves = c.mul(s.size, count), c.mul(s.external, count), c.mul(s.leaves, count)
	// Later products are not larger than those above.
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

// A collector combines shapes into one.
type collector struct {
	s            shape
	c            *sums
	any          bool // a shape with a kind was added
	native, wire builder
	// split: several grains were added, so native and wire differ.
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
	l.s.size, l.s.external, l.s.leaves = l.c.add(l.s.size, s.size), l.c.add(l.s.external, s.external), l.c.add(l.s.leaves, s.leaves)
	l.s.converts = l.s.converts || s.converts
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
