package bulk_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/via/bulk"
)

// A machine moves messages, each way at its own cost, and sometimes something comes between.
type machine struct {
	rng   *rand.Rand
	cost  [2]float64 // of a byte in ns, by way
	noise float64    // the share of messages that take up to twenty times as long
}

func (m *machine) move(size int, w bulk.Way) time.Duration {
	took := m.cost[w] * float64(size) * (1 + m.rng.Float64()/20)
	if m.rng.Float64() < m.noise {
		took *= 1 + 19*m.rng.Float64()
	}
	return time.Duration(took)
}

// run moves messages, and returns how many of them went each way.
func (m *machine) run(c *bulk.Chooser, size, messages int) (by [2]int) {
	for range messages {
		w := c.Choose(size)
		by[w]++
		c.Moved(size, w, m.move(size, w))
	}
	return by
}

// usual is the way that most messages go.
func (m *machine) usual(c *bulk.Chooser, size int) bulk.Way {
	if by := m.run(c, size, 50); by[bulk.ByPackets] > by[bulk.ByRDMA] {
		return bulk.ByPackets
	}
	return bulk.ByRDMA
}

var (
	apart  = [2]float64{0.07, 0.21} // two cores far from each other
	shared = [2]float64{0.07, 0.05} // two that share a cache
)

// TestChooserFindsTheFasterWay: in every machine, in quiet and noise, nearly all messages soon go the faster way.
func TestChooserFindsTheFasterWay(t *testing.T) {
	for _, seed := range sim.Seeds(t) {
		for name, tc := range map[string]struct {
			cost [2]float64
			want bulk.Way
		}{"apart": {apart, bulk.ByRDMA}, "shared": {shared, bulk.ByPackets}} {
			for _, noise := range []float64{0, 0.05} {
				m := &machine{rng: rand.New(rand.NewPCG(seed, 1)), cost: tc.cost, noise: noise}
				var c bulk.Chooser
				first := m.run(&c, 64<<10, 100)
				assert.Greater(t, first[tc.want], 50, "%s, noise %v, seed %d: of the first 100", name, noise, seed)
				later := m.run(&c, 64<<10, 10000)
				assert.Less(t, later[bulk.ByPackets-tc.want], 300, "%s, noise %v, seed %d: of 10,000 later ones", name, noise, seed)
				assert.Equal(t, tc.want, m.usual(&c, 64<<10), "%s, noise %v, seed %d", name, noise, seed)
			}
		}
	}
}

// TestChooserFollows: when a process moves to another processor, the choice changes: within some messages if the present way has become
// slower, and otherwise with the next trial.
func TestChooserFollows(t *testing.T) {
	for _, seed := range sim.Seeds(t) {
		m := &machine{rng: rand.New(rand.NewPCG(seed, 2)), cost: apart}
		var c bulk.Chooser
		m.run(&c, 64<<10, 5000)
		m.cost = shared
		m.run(&c, 64<<10, 1100)
		require.Equal(t, bulk.ByPackets, m.usual(&c, 64<<10), "seed %d", seed)
		m.run(&c, 64<<10, 5000)
		m.cost = apart
		by := m.run(&c, 64<<10, 100)
		require.Equal(t, bulk.ByRDMA, m.usual(&c, 64<<10), "seed %d", seed)
		assert.Less(t, by[bulk.ByPackets], 20, "seed %d: the slow way is left at once", seed)
	}
}

// TestChooserComparesMessagesOfSimilarSize: each class has its own choice, and sizes beyond the limits are allowed.
func TestChooserComparesMessagesOfSimilarSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	small, large := &machine{rng: rng, cost: shared}, &machine{rng: rng, cost: apart}
	machineOf := func(size int) *machine {
		if size < 256<<10 {
			return small
		}
		return large
	}
	var c bulk.Chooser
	for range 200 {
		for size := bulk.ChoiceMin; size <= bulk.ChoiceMax; size = 2*size + 1 {
			machineOf(size).run(&c, size+rng.IntN(1000), 1)
		}
	}
	for size := bulk.ChoiceMin; size <= bulk.ChoiceMax; size = 2*size + 1 {
		want := bulk.ByRDMA
		if size < 256<<10 {
			want = bulk.ByPackets
		}
		assert.Equal(t, want, machineOf(size).usual(&c, size), "%d bytes", size)
	}
	for _, size := range []int{0, 1, bulk.ChoiceMax + 1, 1 << 40} {
		w := c.Choose(size)
		c.Moved(max(size, 1), w, time.Second)
	}
}
