package sim

import (
	"flag"
	"fmt"
	"testing"
)

var (
	flagSeed  = flag.Uint64("sim.seed", 0, "replay this one seed (0: run -sim.seeds of them)")
	flagSeeds = flag.Int("sim.seeds", 8, "how many seeds each simulated test runs")
)

// Seeds are the seeds that a test must run: the one of -sim.seed, or the first
// -sim.seeds.
func Seeds(t testing.TB) []uint64 {
	t.Helper()
	if *flagSeed != 0 {
		return []uint64{*flagSeed}
	}
	seeds := make([]uint64, *flagSeeds)
	for i := range seeds {
		seeds[i] = uint64(i) + 1
	}
	return seeds
}

// Run calls fn as a subtest for each of Seeds, and says on failure how to
// replay it.
func Run(t *testing.T, fn func(t *testing.T, seed uint64)) {
	t.Helper()
	for _, seed := range Seeds(t) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("replay with: -run '%s' -sim.seed=%d", t.Name(), seed)
				}
			})
			fn(t, seed)
		})
	}
}
