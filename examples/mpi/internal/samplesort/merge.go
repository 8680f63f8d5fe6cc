package samplesort

import (
	"math"
	"math/bits"
)

// Merge merges sorted runs into dst, which is as long as all of them together. It is stable: among
// equal keys, records of earlier runs come first.
func Merge(dst []Record, runs [][]Record) {
	m := newMerger(runs)
	for i := range dst {
		run := m.winner.run
		left := m.runs[run]
		dst[i] = left[0]
		m.runs[run] = left[1:]
		m.replay(m.first(run))
	}
}

// A merger is a tree of losers: each inner node has the run that lost the match there. After a
// run's first record is taken, only the matches on its way to the root are played again, one for
// each level.
type merger struct {
	runs   [][]Record  // the remaining records; filled up with empty runs to a power of two
	losers []contender // of node i ≥ 1, whose children are 2i and 2i+1; the runs are the leaves
	winner contender   // the run with the smallest record
}

// A contender is a run in a match, compared by its first key, and then by its number. A run without
// records has the largest key, and a number above all runs with records.
type contender struct {
	key uint64
	run int
}

func (c contender) before(d contender) bool {
	return c.key < d.key || c.key == d.key && c.run < d.run
}

func newMerger(runs [][]Record) *merger {
	leaves := 1 << bits.Len(uint(max(1, len(runs))-1))
	m := &merger{runs: make([][]Record, leaves), losers: make([]contender, leaves)}
	copy(m.runs, runs)
	m.winner = m.play(1)
	return m
}

// first returns the contender of a run's first record.
func (m *merger) first(run int) contender {
	if left := m.runs[run]; len(left) > 0 {
		return contender{left[0].Key, run}
	}
	return contender{math.MaxUint64, run + len(m.runs)}
}

// play plays all matches below a node and returns the winner.
func (m *merger) play(node int) contender {
	if node >= len(m.runs) {
		return m.first(node - len(m.runs))
	}
	a, b := m.play(2*node), m.play(2*node+1)
	if b.before(a) {
		a, b = b, a
	}
	m.losers[node] = b
	return a
}

// replay plays the matches of the last winner's run again.
func (m *merger) replay(c contender) {
	leaves := len(m.runs)
	for node := (c.run&(leaves-1) + leaves) / 2; node > 0; node /= 2 {
		if other := m.losers[node]; other.before(c) {
			m.losers[node], c = c, other
		}
	}
	m.winner = c
}
