package cg

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A team is processes that share memory instead of sending messages.
type team struct {
	bounds  []int
	mu      sync.Mutex
	all     sync.Cond
	arrived int
	round   int
	partial []float64
	vectors [][]float64
}

func newTeam(bounds []int) *team {
	procs := len(bounds) - 1
	tm := &team{bounds: bounds, partial: make([]float64, procs), vectors: make([][]float64, procs)}
	tm.all.L = &tm.mu
	return tm
}

// barrier waits until all members have arrived.
func (tm *team) barrier() {
	tm.mu.Lock()
	defer tm.mu.Unlock()
	round := tm.round
	if tm.arrived++; tm.arrived == len(tm.partial) {
		tm.arrived = 0
		tm.round++
		tm.all.Broadcast()
		return
	}
	for tm.round == round {
		tm.all.Wait()
	}
}

// A member is one process of a team.
type member struct {
	*team
	rank  int
	part  *Part
	local []float64
}

func (m *member) Dot(a, b []float64) (float64, error) {
	m.partial[m.rank] = Dot(a, b)
	m.barrier()
	sum := 0.0
	for _, x := range m.partial {
		sum += x
	}
	m.barrier()
	return sum, nil
}

func (m *member) Multiply(y, x []float64) error {
	m.vectors[m.rank] = x
	m.barrier()
	m.local = append(m.local[:0], x...)
	ghosts := m.part.Ghosts
	for owner, n := range m.part.Want {
		at, err := Asked(ghosts[:n], m.bounds[owner], len(m.vectors[owner]))
		if err != nil {
			return err
		}
		for _, i := range at {
			m.local = append(m.local, m.vectors[owner][i])
		}
		ghosts = ghosts[n:]
	}
	m.barrier()
	m.part.Rows.Multiply(y, m.local)
	return nil
}

func TestATeamSolvesWhatOneDoes(t *testing.T) {
	g := &Grid{NX: 12, NY: 10, NZ: 4, Contrast: 3, Seed: 6}
	n := g.Len()
	b := vector(rand.New(rand.NewPCG(3, 0)), n)
	whole := g.Rows(0, n)
	want := make([]float64, n)
	serial, err := Solve(Serial{whole}, whole.Diagonal(), b, want, 1e-12, 2000)
	require.NoError(t, err)
	require.True(t, serial.Converged)
	for _, procs := range []int{1, 2, 3, 5} {
		bounds := []int{0}
		for i := range procs {
			bounds = append(bounds, (i+1)*n/procs)
		}
		tm := newTeam(bounds)
		got := make([]float64, n)
		results := make([]Result, procs)
		var wg sync.WaitGroup
		for rank := range procs {
			wg.Go(func() {
				first, end := bounds[rank], bounds[rank+1]
				rows := g.Rows(first, end-first)
				part, err := NewPart(rows, bounds)
				if !assert.NoError(t, err) {
					return
				}
				results[rank], err = Solve(&member{team: tm, rank: rank, part: part}, rows.Diagonal(), b[first:end], got[first:end], 1e-12, 2000)
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		require.Len(t, slices.Compact(results), 1, "everybody stops at the same time")
		require.True(t, results[0].Converged)
		require.InDelta(t, serial.Iterations, results[0].Iterations, 5)
		require.InDeltaSlice(t, want, got, 1e-9)
	}
}
