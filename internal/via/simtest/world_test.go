package simtest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/nic/fault"
	simnic "github.com/viaduct-hpc/viaduct/internal/nic/sim"
	"github.com/viaduct-hpc/viaduct/internal/nic/trace"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
	"github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
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

// simWorld is the simulated network of a subject.
type simWorld struct {
	seed     uint64
	sim      *sim.World
	nics     *simnic.World
	provider nic.Provider // of nics, perhaps wrapped
	opened   atomic.Uint64
}

func newSimWorld(seed uint64, opts simnic.Options) *simWorld {
	w := &simWorld{seed: seed, sim: sim.New(sim.Options{Seed: seed})}
	w.nics = simnic.New(w.sim, opts)
	w.provider = w.nics
	return w
}

// randomNICs draws options for NICs of any kind, with peers that write to memory that the NICs
// lend.
func randomNICs(seed uint64) simnic.Options {
	rng := rand.New(rand.NewPCG(seed, 1))
	opts := simnic.RandomOptions(rng)
	opts.PeerWrites = sim.Draw{Rand: rng}.Chance(1)
	return opts
}

// open opens an endpoint; idle moves virtual time on while it closes.
func (w *simWorld) open(ctx context.Context, cfg bmi.Config, idle func(time.Duration)) (*bmi.Endpoint, error) {
	opened := w.opened.Add(1)
	cfg.Clock = w.nics.Clock
	cfg.Options = map[string]any{"via+sim": simOptions{w.provider, via.Options{
		Seed: w.seed<<16 + opened, Idle: idle,
	}}}
	return bmi.Open(ctx, cfg)
}

func (w *simWorld) crash(t methodtest.T, e *bmi.Endpoint) {
	w.nics.Crash(strings.TrimPrefix(e.Addresses()[0], "via+sim://"))
	t.Cleanup(func() { _ = e.Close() })
}

func simAddress(name string) string { return "via+sim://" + name }

// stepped is a subject in virtual time that only the suite moves on.
func (w *simWorld) stepped() *methodtest.Subject {
	return &methodtest.Subject{
		Seeds:   []uint64{w.seed},
		Skip:    skipLong(w.seed),
		Address: simAddress,
		Crash:   w.crash,
		Open: func(ctx context.Context, cfg bmi.Config) (*bmi.Endpoint, error) {
			return w.open(ctx, cfg, w.nics.Idle)
		},
		Step: func() {
			if !w.sim.Step() {
				w.sim.RunFor(time.Millisecond) // only time-outs are left
			}
		},
	}
}

// skipLong leaves out, beyond the first seeds, the tests that move the most
// bytes: with many seeds they would take most of the time.
func skipLong(seed uint64) map[string]string {
	if seed <= wholeSeeds {
		return nil
	}
	return skipAll(longTests, "takes long, the first seeds run it")
}

var longTests = []string{"Large", "LargeBothWays", "LargeManyAtOnce", "LargeAlloc", "EarlyFlood", "CancelDuringTransfer"}

// skipAll skips tests for one reason.
func skipAll(names []string, reason string) map[string]string {
	skip := make(map[string]string)
	for _, name := range names {
		skip[name] = reason
	}
	return skip
}

// What a seed runs: see methodtest.Tests.Share.
const (
	wholeSeeds = 8
	seedParts  = 4
)

// TestSimConformance runs the conformance suite over NICs of every kind: with
// and without RDMA, loans that the peer writes over, inline data, late and
// reordered completions, failing posts, lost connect requests.
func TestSimConformance(t *testing.T) {
	whole := uint64(wholeSeeds)
	if testing.Short() {
		whole = 1
	}
	sim.Run(t, func(t *testing.T, seed uint64) {
		for i, test := range methodtest.All.Share(seed, whole, seedParts) {
			// Other NICs for each test, so that a few seeds have NICs of every kind.
			nics := randomNICs(seed + uint64(i))
			methodtest.RunTests(t, methodtest.Tests{test}, func(methodtest.T) *methodtest.Subject {
				s := newSimWorld(seed, nics).stepped()
				if testing.Short() {
					s.Skip = skipAll(longTests, "takes long, TestConformanceSHM of methods/via runs it")
				}
				return s
			})
		}
	})
}

// wrapSeedsMax bounds the seeds of the tests below: they repeat much of what
// TestSimConformance does.
const wrapSeedsMax = 4

// TestSimWrapped runs the suite over the wrapping NICs, one in the other: one
// turns posts away and delays completions, one writes everything down.
func TestSimWrapped(t *testing.T) {
	whole := uint64(wholeSeeds)
	if testing.Short() {
		whole = 0
	}
	sim.RunAtMost(t, wrapSeedsMax, func(t *testing.T, seed uint64) {
		methodtest.RunTests(t, methodtest.All.Share(seed, whole, seedParts), func(methodtest.T) *methodtest.Subject {
			opts := randomNICs(seed)
			opts.PeerWrites = 0 // a packet that the wrapper holds back is read late
			w := newSimWorld(seed, opts)
			w.provider = trace.Wrap(fault.Wrap(w.nics, fault.Options{
				Chances: fault.Chances{Again: 0.2, Delay: 0.2},
				Rand:    rand.New(rand.NewPCG(seed, 4)),
			}), trace.ToWriter(io.Discard), trace.Options{})
			subject := w.stepped()
			subject.Skip = skipLong(1000)
			return subject
		})
	})
}

// TestRealTime runs the suite over simulated NICs that follow the clock on the
// wall, with the goroutines and sleeps of a real endpoint.
func TestRealTime(t *testing.T) {
	methodtest.Run(t, func(methodtest.T) *methodtest.Subject {
		opts := randomNICs(1)
		opts.Mode = simnic.Real
		w := newSimWorld(1, opts)
		skip := skipLong(1000)
		waits := []string{"CrashDuringTransfer", "CrashCompletesEverything"}
		if testing.Short() {
			waits = append(waits, "CrashSparesOthers", "FileCrash")
		}
		for _, name := range waits {
			skip[name] = "waits for real time-outs, TestSimConformance runs it in virtual time"
		}
		return &methodtest.Subject{
			Seeds:   []uint64{1},
			Skip:    skip,
			Address: simAddress,
			Crash:   w.crash,
			Open: func(ctx context.Context, cfg bmi.Config) (*bmi.Endpoint, error) {
				return w.open(ctx, cfg, nil)
			},
		}
	})
}
