package coretest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
)

func shape() Shape {
	return Shape{RanksMax: 5, ActionsMax: 120, SizeMax: 900, LargestMax: 3000, Edges: []int{plainEager}, Strides: true}
}

// runPlain runs a program over the model, and checks what the ranks saw.
func runPlain(p *Program, flaw Flaw) (*Plain, error) {
	m := NewPlain(len(p.Ranks), p.Seed, flaw)
	return m, p.Play(func(program func(r *Rank) error) error { return RunStepped(m.Ports(), m.Step, nil, program) })
}

// The obvious model follows the rules, and every program ends.
func TestPlain(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		p := Generate(seed, shape())
		m, err := runPlain(p, None)
		require.NoError(t, err, "%v", p)
		assert.Zero(t, m.missed, "a message in ready mode came before its receive")
		for _, r := range m.ranks {
			assert.Empty(t, r.posted)
			assert.Empty(t, r.early)
		}
		assert.Zero(t, slices.IndexFunc(m.wires, func(w []*plainMessage) bool { return len(w) > 0 })+1)
	})
}

// TestCanary: Check finds every flaw of the model soon.
func TestCanary(t *testing.T) {
	for flaw := None + 1; flaw < flaws; flaw++ {
		t.Run(fmt.Sprint(int(flaw)), func(t *testing.T) {
			for seed := uint64(1); ; seed++ {
				require.LessOrEqual(t, seed, uint64(60), "nobody notices")
				if _, err := runPlain(Generate(seed, shape()), flaw); err != nil {
					t.Logf("seed %d: %.300v", seed, err)
					return
				}
			}
		})
	}
}

// Everything that programs are meant to contain occurs in them.
func TestGenerateCoversEverything(t *testing.T) {
	verbs := make(map[Verb]int)
	seen := make(map[string]int)
	for seed := uint64(1); seed <= 200; seed++ {
		p := Generate(seed, shape())
		for _, actions := range p.Ranks {
			for _, a := range actions {
				verbs[a.Verb]++
			}
		}
		m := NewPlain(len(p.Ranks), seed, None)
		require.NoError(t, RunStepped(m.Ports(), m.Step, nil, func(r *Rank) error {
			h := new(History)
			err := p.Run(r, h, func(int) {})
			seen["restarted"] += h.Restarted
			for _, s := range h.Sent {
				tally(seen, map[string]bool{"sent": true, "send cancelled": s.Cancelled, "empty": s.Size == 0})
			}
			for _, g := range h.Got {
				tally(seen, map[string]bool{
					"receive cancelled": g.Cancelled, "truncated": g.Err != nil, "taken": g.Taken,
					"probed": g.Probed != nil && !g.Taken, "any": g.Src < 0 && g.Tag < 0,
				})
			}
			return err
		}))
	}
	for v := range verbs {
		assert.Greater(t, verbs[v], 10, v)
	}
	assert.Len(t, verbs, len(verbNames))
	t.Log(verbs, seen)
	for what, n := range seen {
		assert.Greater(t, n, 10, what)
	}
}

func tally(seen map[string]int, what map[string]bool) {
	for name, is := range what {
		if seen[name] += 0; is {
			seen[name]++
		}
	}
}
