package udp_test

import (
	"testing"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	simdgram "github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl/vipltest"
)

// setup is a simulated network for the suite of the VI Architecture.
func setup(seed uint64, w *udptest.World) vipltest.Setup {
	names := map[int]string{}
	return vipltest.Setup{
		Provider: w,
		Name: func(i int) string {
			if names[i] == "" {
				names[i] = w.NewName()
			}
			return names[i]
		},
		Clock:   w.Clock,
		Step:    w.Step,
		Advance: w.Idle,
		Seed:    seed,
		Crash:   w.Crash,
		Apart:   true,
	}
}

// TestSimViplConformance runs the suite over a network without faults.
func TestSimViplConformance(t *testing.T) {
	for name, p := range map[string]udp.Provider{"insecure": {Insecure: true}, "secure": {Key: udptest.Key}, "static": {Identity: udptest.Static}} {
		t.Run(name, func(t *testing.T) {
			vipltest.Run(t, func(*testing.T) vipltest.Setup {
				return setup(1, udptest.New(1, sim.LinkOptions{DelayMin: time.Microsecond}, simdgram.Options{}, p))
			})
		})
	}
}

// TestSimViplConformanceRandom runs the suite over networks with faults of every
// kind.
func TestSimViplConformanceRandom(t *testing.T) {
	sim.RunAtMost(t, 40, func(t *testing.T, seed uint64) {
		vipltest.Run(t, func(*testing.T) vipltest.Setup { return setup(seed, udptest.Random(seed)) })
	})
}
