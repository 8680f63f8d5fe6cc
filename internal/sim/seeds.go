package sim

import (
	"flag"
	"fmt"
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/race"
)

var (
	flagSeed  = flag.Uint64("sim.seed", 0, "replay this one seed (0: run -sim.seeds of them)")
	flagSeeds = flag.Int("sim.seeds", defaultSeeds(), "how many seeds each simulated test runs")
)

// defaultSeeds are fewer where each of them takes ten times as long.
func defaultSeeds() int {
	if race.Enabled {
		return 2
	}
	return 8
}

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
	run(t, Seeds(t), fn)
}

// SeedsAtMost are the first most of [Seeds]: for tests that take long, or that repeat much
// of what another does. A replay runs whatever its seed.
func SeedsAtMost(t testing.TB, most int) []uint64 {
	t.Helper()
	seeds := Seeds(t)
	if len(seeds) > most {
		t.Logf("%d of %d seeds: more add little here", most, len(seeds))
		seeds = seeds[:most]
	}
	return seeds
}

// RunAtMost is [Run] with [SeedsAtMost].
func RunAtMost(t *testing.T, most int, fn func(t *testing.T, seed uint64)) {
	t.Helper()
	run(t, SeedsAtMost(t, most), fn)
}

func run(t *testing.T, seeds []uint64, fn func(t *testing.T, seed uint64)) {
	t.Helper()
	for _, seed := range seeds {
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
