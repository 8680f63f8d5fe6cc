package via_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
	"github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	simnic "github.com/viaduct-hpc/viaduct/methods/via/nic/sim"
)

// simDriver opens the method over the simulated NICs that its options name, so
// that every test has a world of its own.
type simDriver struct{}

type simOptions struct {
	nics nic.Provider
	via  via.Options
}

func init() { bmi.Register(simDriver{}) }

func (simDriver) Name() string { return "via+sim" }

func (simDriver) Open(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	opts, ok := cfg.Options.(simOptions)
	if !ok {
		return nil, fmt.Errorf("%w: via+sim needs a world", bmi.ErrInvalid)
	}
	cfg.Options = opts.via
	return via.Driver(opts.nics).Open(ctx, cfg)
}

// simSubject is the method over NICs drawn from a seed, in virtual time that
// only the suite moves on.
func simSubject(seed uint64) methodtest.Factory {
	return func(t methodtest.T) *methodtest.Subject {
		world := sim.New(sim.Options{Seed: seed})
		rng := rand.New(rand.NewPCG(seed, 1))
		nics := simnic.New(world, simnic.RandomOptions(rng))
		opened := uint64(0)
		return &methodtest.Subject{
			Skip:    skipLong(seed),
			Seeds:   []uint64{seed},
			Address: func(name string) string { return "via+sim://" + name },
			Open: func(ctx context.Context, cfg bmi.Config) (*bmi.Endpoint, error) {
				opened++
				cfg.Clock = nics.Clock
				cfg.Options = map[string]any{"via+sim": simOptions{nics, via.Options{Seed: seed<<16 + opened, Idle: nics.Idle}}}
				return bmi.Open(ctx, cfg)
			},
			Step: func() {
				if !world.Step() {
					world.RunFor(time.Millisecond) // only time-outs are left
				}
			},
			Crash: func(t methodtest.T, e *bmi.Endpoint) {
				nics.Crash(strings.TrimPrefix(e.Addresses()[0], "via+sim://"))
				t.Cleanup(func() { _ = e.Close() })
			},
		}
	}
}

// skipLong leaves out, beyond the first seeds, the tests that move the most
// bytes: with many seeds they would take most of the time.
func skipLong(seed uint64) map[string]string {
	if seed <= 8 {
		return nil
	}
	skip := make(map[string]string)
	for _, name := range []string{
		"Large", "LargeBothWays", "LargeManyAtOnce", "LargeAlloc", "EarlyFlood", "CancelDuringTransfer",
	} {
		skip[name] = "takes long, the first 8 seeds run it"
	}
	return skip
}

// TestSimConformance runs the conformance suite over NICs of every kind: with
// and without RDMA, loans, inline data, late and reordered completions, failing
// posts, lost connect requests.
func TestSimConformance(t *testing.T) {
	sim.Run(t, func(t *testing.T, seed uint64) { methodtest.Run(t, simSubject(seed)) })
}
