package datatype

import "slices"

// A part of up to expandAlways runs is always split into blocks, and one of up to expandRunsMax
// while there are fewer than expandedMax blocks: in large types, splitting further makes neither
// copying nor memory better.
const (
	expandAlways  = 2
	expandRunsMax = 8
	expandedMax   = 64
)

// A merger joins adjacent runs, and collects the others as blocks.
type merger struct {
	keepGrains bool

	// The blocks that are being collected:
	offs, ends []int
	grain      grain
	last       int // end of the last of them in memory

	parts []placed // completed parts
}

func (m *merger) add(p placed) {
	if runs := p.n.runs; runs <= expandAlways || runs <= expandRunsMax && len(m.offs) < expandedMax {
		p.n.eachRun(p.off, m.run)
		return
	}
	m.flush()
	m.parts = append(m.parts, p)
}

// run adds length > 0 bytes at off.
func (m *merger) run(off, length int, g grain) {
	switch {
	case len(m.offs) == 0:
		m.grain = g
	case m.grain != g && m.keepGrains:
		m.flush()
		m.grain = g
	case m.grain != g:
		m.grain = mixed
	}
	n := len(m.offs)
	switch {
	case n > 0 && m.last == off:
		m.ends[n-1] += length
	case n > 0:
		m.offs, m.ends = append(m.offs, off), append(m.ends, m.ends[n-1]+length)
	default:
		m.offs, m.ends = append(m.offs, off), append(m.ends, length)
	}
	m.last = off + length
}

// flush makes a part of the collected blocks.
func (m *merger) flush() {
	if len(m.offs) == 0 {
		return
	}
	first := m.offs[0]
	length, same := m.length()
	if stride, regular := m.stride(); same && regular {
		m.parts = append(m.parts, placed{first, runsOf(len(m.offs), stride, length, m.grain)})
	} else {
		n := &node{form: blocks, grain: m.grain, size: m.ends[len(m.ends)-1], runs: len(m.offs),
			offs: make([]int, len(m.offs)), ends: slices.Clone(m.ends)}
		for i, off := range m.offs {
			n.offs[i] = off - first
		}
		if m.grain != mixed {
			n.elems = n.size / int(m.grain.elem)
		}
		m.parts = append(m.parts, placed{first, n})
	}
	m.offs, m.ends = m.offs[:0], m.ends[:0]
}

// length returns the length of the blocks, if they all have the same.
func (m *merger) length() (length int, same bool) {
	for i, end := range m.ends {
		if end != (i+1)*m.ends[0] {
			return 0, false
		}
	}
	return m.ends[0], true
}

// stride returns the distance between successive blocks, if it is always the same.
func (m *merger) stride() (stride int, regular bool) {
	for i := 1; i < len(m.offs); i++ {
		s := m.offs[i] - m.offs[i-1]
		if i > 1 && s != stride {
			return 0, false
		}
		stride = s
	}
	return stride, true
}
