package datatype

import "sort"

// An op is the operation of a mover.
type op uint8

const (
	opPack           op = iota // memory to buffer
	opUnpack                   // buffer to memory
	opPackExternal             // memory to buffer, converting to external32
	opUnpackExternal           // buffer to memory, converting from external32
)

// A mover copies bytes between memory and a buffer of packed bytes. Its callers have checked that
// all bytes lie in both.
type mover struct {
	mem, buf []byte
	op       op
	// dropped is how many bytes at the end were only a part of a unit, which external32 cannot
	// convert.
	dropped int
	// cuts: a unit at the beginning or the end of the buffer may be there in part, and external32
	// moves this part, too.
	cuts bool
}

// elements moves the first len(m.buf) packed bytes of count elements of a type whose
// layout is p.
func (m *mover) elements(p placed, extent, origin, count int) {
	if p.n == nil || count == 0 {
		return
	}
	n := loopHead(p.n, count, extent)
	if len(m.buf) == n.size {
		m.whole(&n, origin+p.off, 0)
	} else {
		m.span(&n, origin+p.off, 0, 0, len(m.buf))
	}
}

// loopHead returns a node for count times body. Unlike the nodes of loopOf it need not be simple,
// and lives only during a call.
func loopHead(body *node, count, stride int) node {
	return node{form: loop, size: count * body.size, count: count, stride: stride, body: body}
}

// whole moves all of a node placed at mem[at], packed at buf[pos].
func (m *mover) whole(n *node, at, pos int) {
	switch n.form {
	case strided:
		m.runs(n.length, int(n.grain.unit), at, n.stride, pos, n.length, n.count)
	case blocks:
		m.blocks(n, 0, len(n.offs), at, pos)
	case loop:
		m.loop(n, 0, n.count, at, pos)
	case list:
		for _, p := range n.parts {
			m.whole(p.n, at+p.off, pos)
			pos += p.n.size
		}
	}
}

// The body of a loop of up to shortRunsMax runs, of shortRunMax bytes on average, is moved run by
// run, each over up to rowsMax iterations at a time. These stay in the cache between the runs. For
// so few bytes, a copy costs less than the decision how to copy.
const (
	shortRunsMax = 16
	shortRunMax  = 64
	rowsMax      = 128
)

// loop moves iterations first to end-1 of a loop placed at mem[at]; iteration first is packed at
// buf[pos].
func (m *mover) loop(n *node, first, end, at, pos int) {
	b := n.body
	at += first * n.stride
	switch {
	case b.runs == 1:
		m.rows(b, end-first, at, n.stride, pos, b.size)
	case b.runs > shortRunsMax || b.size > b.runs*shortRunMax || b.runs > end-first:
		for range end - first {
			m.whole(b, at, pos)
			at += n.stride
			pos += b.size
		}
	default:
		for left := end - first; left > 0; {
			rows := min(left, rowsMax)
			m.rows(b, rows, at, n.stride, pos, b.size)
			at += rows * n.stride
			pos += rows * b.size
			left -= rows
		}
	}
}

// rows moves rows times a node of few runs: the first is placed at mem[at] and packed at buf[pos],
// the others are stride and gap bytes apart.
func (m *mover) rows(n *node, rows, at, stride, pos, gap int) {
	switch n.form {
	case strided:
		for range n.count {
			m.runs(n.length, int(n.grain.unit), at, stride, pos, gap, rows)
			at, pos = at+n.stride, pos+n.length
		}
	case blocks:
		from := 0
		for i, off := range n.offs {
			m.runs(n.ends[i]-from, int(n.grain.unit), at+off, stride, pos+from, gap, rows)
			from = n.ends[i]
		}
	case loop:
		for range n.count {
			m.rows(n.body, rows, at, stride, pos, gap)
			at, pos = at+n.stride, pos+n.body.size
		}
	case list:
		for _, p := range n.parts {
			m.rows(p.n, rows, at+p.off, stride, pos, gap)
			pos += p.n.size
		}
	}
}

// span moves the packed bytes from to end-1 of a node placed at mem[at]; byte from is packed at
// buf[pos].
func (m *mover) span(n *node, at, pos, from, end int) {
	if from >= end {
		return
	}
	if from == 0 && end == n.size {
		m.whole(n, at, pos)
		return
	}
	switch n.form {
	case strided:
		m.spanOfRuns(n, at, pos, from, end)
	case loop:
		m.spanOfLoop(n, at, pos, from, end)
	case blocks, list:
		m.spanOfParts(n, at, pos, from, end)
	}
}

func (m *mover) spanOfRuns(n *node, at, pos, from, end int) {
	unit := int(n.grain.unit)
	i, skip := from/n.length, from%n.length
	if skip > 0 {
		k := min(n.length-skip, end-from)
		m.part(skip, k, unit, at+i*n.stride, pos)
		i, pos, from = i+1, pos+k, from+k
	}
	full := (end - from) / n.length
	m.runs(n.length, unit, at+i*n.stride, n.stride, pos, n.length, full)
	i, pos, from = i+full, pos+full*n.length, from+full*n.length
	if from < end {
		m.part(0, end-from, unit, at+i*n.stride, pos)
	}
}

func (m *mover) spanOfLoop(n *node, at, pos, from, end int) {
	size := n.body.size
	i, skip := from/size, from%size
	if skip > 0 {
		k := min(size-skip, end-from)
		m.span(n.body, at+i*n.stride, pos, skip, skip+k)
		i, pos, from = i+1, pos+k, from+k
	}
	full := (end - from) / size
	m.loop(n, i, i+full, at, pos)
	i, pos, from = i+full, pos+full*size, from+full*size
	m.span(n.body, at+i*n.stride, pos, 0, end-from)
}

// spanOfParts is span for blocks and lists: the whole parts in the middle, and the cut ones at
// either end.
func (m *mover) spanOfParts(n *node, at, pos, from, end int) {
	i := sort.SearchInts(n.ends, from+1)
	for ; from < end; i++ {
		begin := 0
		if i > 0 {
			begin = n.ends[i-1]
		}
		if from == begin && n.form == blocks {
			if last := sort.SearchInts(n.ends, end+1); last > i {
				m.blocks(n, i, last, at, pos)
				pos, from, i = pos+n.ends[last-1]-begin, n.ends[last-1], last-1
				continue
			}
		}
		k := min(end, n.ends[i]) - from
		if n.form == blocks {
			m.part(from-begin, k, int(n.grain.unit), at+n.offs[i], pos)
		} else {
			m.span(n.parts[i].n, at+n.parts[i].off, pos, from-begin, from-begin+k)
		}
		pos, from = pos+k, from+k
	}
}
