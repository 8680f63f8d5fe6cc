package datatype

import "slices"

// Units says what a basic element is: elem bytes, of units of unit bytes whose byte order external32
// may swap. A complex number is one element of two units. Units are powers of two up to 16.
type units struct{ elem, unit uint16 }

// A grain says what a run of bytes consists of: basic elements of one kind. Runs of different grains
// have the grain mixed.
type grain struct {
	units
	kind Kind
}

var mixed grain

// A form is the form of a node of a layout.
type form uint8

const (
	strided form = iota // count runs of length bytes, stride bytes apart
	blocks              // runs of any length at any offset
	loop                // count times body, stride bytes apart
	list                // parts, one after another
)

// A node is a set of bytes in memory, in the order in which they travel. Nodes are immutable and
// shared between types. Offsets are relative to the node's place.
type node struct {
	form  form
	grain grain // of strided and blocks
	size  int   // packed bytes, > 0
	runs  int   // pieces of memory that it touches, > 0
	elems int   // basic elements; not maintained for mixed grains

	count, stride int   // strided, loop
	length        int   // strided: bytes of each run
	body          *node // loop

	offs  []int    // blocks: offset of each
	parts []placed // list
	ends  []int    // blocks and list: packed bytes up to the end of each
}

// A placed node is a node at an offset. The zero value has no bytes.
type placed struct {
	off int
	n   *node
}

func (p placed) shift(off int) placed {
	if p.n != nil {
		p.off += off
	}
	return p
}

// run returns a node of one contiguous run.
func run(length int, g grain) *node { return runsOf(1, 0, length, g) }

func runsOf(count, stride, length int, g grain) *node {
	n := &node{form: strided, grain: g, size: count * length, runs: count, count: count, stride: stride, length: length}
	if g != mixed {
		n.elems = n.size / int(g.elem)
	}
	return n
}

// repeat returns count times p, stride bytes apart. A repeated pattern is joined with p's own if it
// continues it.
func (p placed) repeat(count, stride int) placed {
	switch n := p.n; {
	case n == nil || count == 0:
		return placed{}
	case count == 1:
		return p
	case n.form == strided && n.count == 1 && n.length == stride:
		return placed{p.off, run(count*stride, n.grain)}
	case n.form == strided && n.count == 1:
		return placed{p.off, runsOf(count, stride, n.length, n.grain)}
	case n.form == strided && n.count*n.stride == stride:
		return placed{p.off, runsOf(count*n.count, n.stride, n.length, n.grain)}
	case n.form == loop && n.count*n.stride == stride:
		return placed{p.off, loopOf(count*n.count, n.stride, n.body)}
	default:
		return placed{p.off, loopOf(count, stride, n)}
	}
}

func loopOf(count, stride int, body *node) *node {
	return &node{form: loop, size: count * body.size, runs: count * body.runs, elems: count * body.elems,
		count: count, stride: stride, body: body}
}

// eachRun calls f for every run of n in order.
func (n *node) eachRun(at int, f func(off, length int, g grain)) {
	switch n.form {
	case strided:
		for i := range n.count {
			f(at+i*n.stride, n.length, n.grain)
		}
	case blocks:
		from := 0
		for i, off := range n.offs {
			f(at+off, n.ends[i]-from, n.grain)
			from = n.ends[i]
		}
	case loop:
		for i := range n.count {
			n.body.eachRun(at+i*n.stride, f)
		}
	case list:
		for _, p := range n.parts {
			p.n.eachRun(at+p.off, f)
		}
	}
}

// A builder joins placed nodes. A part that is repeated at one stride becomes a loop. Otherwise
// neighbours in order and in memory become one run, and small parts become blocks.
type builder struct {
	// keepGrains: runs of different grains are never joined, because external32 needs them.
	keepGrains bool

	parts []placed // none of them empty
}

func (b *builder) add(p placed) {
	if p.n != nil {
		b.parts = append(b.parts, p)
	}
}

// done returns the node of all parts that were added.
func (b *builder) done() placed {
	if len(b.parts) == 0 {
		return placed{}
	}
	if stride, ok := sameParts(b.parts); ok {
		return b.parts[0].repeat(len(b.parts), stride)
	}
	m := merger{keepGrains: b.keepGrains}
	for _, p := range b.parts {
		m.add(p)
	}
	m.flush()
	if len(m.parts) == 1 {
		return m.parts[0]
	}
	return placed{0, listOf(m.parts)}
}

// sameParts reports whether all parts are the same node, at one stride.
func sameParts(parts []placed) (stride int, ok bool) {
	if len(parts) == 1 {
		return 0, true
	}
	stride = parts[1].off - parts[0].off
	for i := 1; i < len(parts); i++ {
		if parts[i].n != parts[0].n || parts[i].off-parts[i-1].off != stride {
			return 0, false
		}
	}
	return stride, true
}

func listOf(parts []placed) *node {
	n := &node{form: list, parts: slices.Clip(parts), ends: make([]int, len(parts))}
	for i, p := range n.parts {
		n.size += p.n.size
		n.runs += p.n.runs
		n.elems += p.n.elems
		n.ends[i] = n.size
	}
	return n
}
