package mpi

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A floodWorld is members that make a decision over links that keep the order of ballots. Members
// die between any two sends; then any part of their ballots in transit arrives.
type floodWorld struct {
	rng     *rand.Rand
	members []*floodMember
	crashes int // remaining crashes
}

type floodMember struct {
	f        *flood
	tells    bool
	dead     bool
	finished bool
	gone     marks
	to       []int      // members to which this round's ballot has not been sent
	from     []int      // members whose ballots are awaited
	queues   [][]ballot // of each member
}

func newFloodWorld(seed uint64) *floodWorld {
	rng := rand.New(rand.NewPCG(seed, 5))
	n := 2 + rng.IntN(5)
	w := &floodWorld{rng: rng, crashes: rng.IntN(n)}
	for me := range n {
		mine := newBallot(n, 8)
		mine.setFlag(^uint64(0))
		if rng.IntN(2) == 0 {
			mine.setFlag(^(uint64(1) << me))
		}
		m := &floodMember{f: newFlood(n, me, mine), tells: true, gone: newMarks(n), queues: make([][]ballot, n)}
		w.members = append(w.members, m)
	}
	for me := range w.members {
		w.begin(me)
	}
	return w
}

// begin starts a member's round.
func (w *floodWorld) begin(me int) {
	m := w.members[me]
	m.to, m.from = m.to[:0], m.from[:0]
	for i := range w.members {
		if m.tells && i != me && !m.gone.has(i) {
			m.to = append(m.to, i)
		}
		if m.f.listens(i) {
			m.from = append(m.from, i)
		}
	}
	w.rng.Shuffle(len(m.to), func(a, b int) { m.to[a], m.to[b] = m.to[b], m.to[a] })
	m.finished = len(m.to)+len(m.from) == 0 && !m.tells
}

// die ends a member.
func (w *floodWorld) die(me int) {
	w.members[me].dead = true
	for _, m := range w.members {
		m.queues[me] = m.queues[me][:w.rng.IntN(len(m.queues[me])+1)]
	}
}

// step lets a member do one step if it can.
func (w *floodWorld) step(me int) {
	m := w.members[me]
	if m.dead || m.finished {
		return
	}
	if len(m.to) > 0 && w.rng.IntN(2) == 0 {
		to := w.members[m.to[0]]
		m.to = m.to[1:]
		if !to.dead {
			to.queues[me] = append(to.queues[me], m.f.mine)
		}
		return
	}
	if len(m.from) > 0 {
		at := w.rng.IntN(len(m.from))
		w.receive(m, at)
		return
	}
	if len(m.to) == 0 {
		told := m.f.decided
		m.f.turn()
		m.tells = m.tells && !told
		w.begin(me)
	}
}

// receive takes a ballot from one of the members that a member waits for, or finds out that this
// one is dead, which may hide ballots that have arrived.
func (w *floodWorld) receive(m *floodMember, at int) {
	i := m.from[at]
	queue := m.queues[i]
	switch {
	case w.members[i].dead && (len(queue) == 0 || w.rng.IntN(4) == 0):
		m.gone.add(i)
		m.f.lose(i)
	case len(queue) == 0:
		return
	default:
		m.queues[i] = queue[1:]
		m.f.hear(i, queue[0])
	}
	m.from = append(m.from[:at], m.from[at+1:]...)
}

// run runs all members until they have finished or died, and returns whether they have.
func (w *floodWorld) run() bool {
	for range 100_000 {
		w.step(w.rng.IntN(len(w.members)))
		if w.crashes > 0 && w.rng.IntN(20) == 0 {
			w.crashes--
			w.die(w.rng.IntN(len(w.members)))
		}
		ended := true
		for _, m := range w.members {
			ended = ended && (m.dead || m.finished)
		}
		if ended {
			return true
		}
	}
	return false
}

// TestFlood: all members that decide, dead or alive, decide the same. The decision contains the
// proposals of all members except those that it names as failed. All live members decide.
func TestFlood(t *testing.T) {
	seeds := uint64(20_000)
	if testing.Short() {
		seeds /= 20
	}
	for seed := range seeds {
		w := newFloodWorld(seed)
		shares := make([]uint64, len(w.members))
		for i, m := range w.members {
			shares[i] = m.f.mine.flag()
		}
		require.True(t, w.run(), "seed %d: no end", seed)
		var first ballot
		for i, m := range w.members {
			if !m.f.decided {
				require.True(t, m.dead, "seed %d: member %d", seed, i)
				continue
			}
			if first.b == nil {
				first = m.f.mine
			}
			require.Equal(t, first.proposal(), m.f.mine.proposal(), "seed %d: member %d", seed, i)
			for j, share := range shares {
				if !first.failed().has(j) {
					require.Zero(t, first.flag()&^share, "seed %d: member %d has not failed", seed, j)
				} else {
					require.True(t, w.members[j].dead, "seed %d: member %d", seed, j)
				}
			}
		}
	}
}
