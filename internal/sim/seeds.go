package sim

import (
	"flag"
	"fmt"
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/race"
)

var (
	flagSeed  = flag.Uint64("sim.seed", 0, "replay this one seed (0: those of -sim.base and -sim.seeds)")
	flagBase  = flag.Uint64("sim.base", 0, "run the seeds that follow this one (0: the fixed ones of the fast tier)")
	flagSeeds = flag.Int("sim.seeds", 0, "how many seeds each simulated test runs (0: 8, or 2 with the race detector or -short)")
)

// seeds is the default number of seeds without -sim.seeds. It is smaller where a seed takes ten times as long, and where
// minutes matter.
func seeds() int {
	switch {
	case *flagSeeds != 0:
		return *flagSeeds
	case race.Enabled || testing.Short():
		return 2
	}
	return 8
}

// Seeds are the seeds that a test must run: the one of -sim.seed; or those that follow -sim.base; or, with neither, the
// first ones and those listed for the test in the file testdata/seeds.txt beside it, each with its reason.
func Seeds(t testing.TB) []uint64 {
	t.Helper()
	return seedsAtMost(t, seeds())
}

// Seed is the seed of a test that runs with one seed: the one of -sim.seed, the one that follows -sim.base, or 1. On failure
// it prints how to replay it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := *flagBase + 1
	if *flagSeed != 0 {
		seed = *flagSeed
	}
	sayOnFailure(t, seed)
	return seed
}

// Run calls fn as a subtest for each of Seeds, and prints on failure how to replay it.
func Run(t *testing.T, fn func(t *testing.T, seed uint64)) {
	t.Helper()
	run(t, Seeds(t), fn)
}

// SeedsAtMost are [Seeds], but at most this many consecutive ones: for tests that take long, or that largely repeat another
// test.
func SeedsAtMost(t testing.TB, most int) []uint64 {
	t.Helper()
	n := seeds()
	if n > most {
		t.Logf("%d of %d seeds: more add little here", most, n)
		n = most
	}
	return seedsAtMost(t, n)
}

// RunAtMost is [Run] with [SeedsAtMost].
func RunAtMost(t *testing.T, most int, fn func(t *testing.T, seed uint64)) {
	t.Helper()
	run(t, SeedsAtMost(t, most), fn)
}

func seedsAtMost(t testing.TB, n int) []uint64 {
	t.Helper()
	if *flagSeed != 0 {
		return []uint64{*flagSeed}
	}
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = *flagBase + uint64(i) + 1
	}
	if *flagBase != 0 {
		return seeds
	}
	known, err := regressions("testdata/seeds.txt", t.Name())
	if err != nil {
		t.Fatal(err)
	}
	return append(seeds, known...)
}

func run(t *testing.T, seeds []uint64, fn func(t *testing.T, seed uint64)) {
	t.Helper()
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			sayOnFailure(t, seed)
			fn(t, seed)
		})
	}
}

func sayOnFailure(t testing.TB, seed uint64) {
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("replay with: -run '%s' -sim.seed=%d", t.Name(), seed)
		}
	})
}
