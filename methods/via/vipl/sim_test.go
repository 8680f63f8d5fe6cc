package vipl_test

import (
	"fmt"
	"testing"
	"time"

	simnic "github.com/viaduct-hpc/viaduct/internal/nic/sim"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl/vipltest"
)

// setup is a simulated network for the conformance suite.
func setup(seed uint64, opts simnic.Options, link sim.LinkOptions) vipltest.Setup {
	world := sim.New(sim.Options{Seed: seed, Link: link})
	w := simnic.New(world, opts)
	return vipltest.Setup{
		Provider: w,
		Name:     func(i int) string { return fmt.Sprintf("nic-%d", i) },
		Clock:    w.Clock,
		Step:     world.Step,
		Advance:  world.RunFor,
		Seed:     seed,
		Crash:    w.Crash,
	}
}

func TestConformanceOverAPerfectNIC(t *testing.T) {
	vipltest.Run(t, func(t *testing.T) vipltest.Setup {
		return setup(1, simnic.Options{}, sim.LinkOptions{DelayMin: time.Microsecond})
	})
}

// TestConformanceOverRandomNICs draws capabilities, delays and links anew for every
// seed and test.
func TestConformanceOverRandomNICs(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) {
		vipltest.Run(t, func(t *testing.T) vipltest.Setup {
			rng := sim.New(sim.Options{Seed: seed}).Rand()
			opts := simnic.RandomOptions(rng)
			link := sim.RandomLink(rng)
			link.Capacity = 0
			return setup(seed, opts, link)
		})
	})
}
