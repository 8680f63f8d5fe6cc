package simtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/udptest"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
	"github.com/viaduct-hpc/viaduct/methods/via"
)

// simUDPScheme is the method's name over simulated datagrams.
const simUDPScheme = "via+" + udptest.Scheme

// simUDPDriver opens the method over the world that its options name.
type simUDPDriver struct{}

type simUDPOptions struct {
	world *udptest.World
	via   via.Options
}

func init() { bmi.Register(simUDPDriver{}) }

func (simUDPDriver) Name() string { return simUDPScheme }

func (simUDPDriver) Open(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	opts, ok := cfg.Options.(simUDPOptions)
	if !ok {
		return nil, fmt.Errorf("%w: %s needs a world", bmi.ErrInvalid, simUDPScheme)
	}
	cfg.Options = opts.via
	return via.Driver(opts.world).Open(ctx, cfg)
}

// simWait bounds a wait for what happens in virtual time, which ends by itself: that
// time is computed on a machine that may be busy.
const simWait = 5 * time.Minute

// simUDPSubject is a subject in virtual time that only the suite moves on; every
// endpoint has a machine of its own.
func simUDPSubject(seed uint64) *methodtest.Subject {
	w := udptest.Random(seed)
	names := map[string]string{}
	opened := uint64(0)
	return &methodtest.Subject{
		Seeds:   []uint64{seed},
		Timeout: simWait,
		Address: func(name string) string {
			if names[name] == "" {
				names[name] = w.NewName()
			}
			return simUDPScheme + "://" + names[name]
		},
		Open: func(ctx context.Context, cfg bmi.Config) (*bmi.Endpoint, error) {
			opened++
			cfg.Clock = w.Clock
			cfg.Options = map[string]any{simUDPScheme: simUDPOptions{w, via.Options{Seed: seed<<16 + opened, Idle: w.Idle}}}
			return bmi.Open(ctx, cfg)
		},
		Crash: func(t methodtest.T, e *bmi.Endpoint) {
			w.Crash(strings.TrimPrefix(e.Addresses()[0], simUDPScheme+"://"))
			t.Cleanup(func() { _ = e.Close() })
		},
		Step: func() { w.Step() },
	}
}

const (
	// udpSeedsMax bounds the seeds, the first of which runs the whole suite; each other
	// one runs one test in udpSeedParts, but the longest, and another seed others.
	udpSeedsMax  = 60
	udpSeedParts = 16
	// With -short each seed runs one test in udpSeedPartsShort.
	udpSeedPartsShort = 4
)

// TestSimConformanceUDP runs the conformance suite over datagrams that are lost,
// doubled, damaged, late, too big, between hosts that do not see each other now and
// then.
func TestSimConformanceUDP(t *testing.T) {
	if testing.Short() {
		// A test of methods/via over real sockets runs a part that none of the first seeds has.
		sim.RunAtMost(t, udpSeedsMax, func(t *testing.T, seed uint64) {
			methodtest.RunTests(t, methodtest.All.Share(seed+1, 0, udpSeedPartsShort), func(methodtest.T) *methodtest.Subject {
				s := simUDPSubject(seed)
				s.Skip = skipAll(longTests, "soak: takes long")
				return s
			})
		})
		return
	}
	sim.RunAtMost(t, udpSeedsMax, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 41))
		var skip map[string]string
		if seed > 1 || race.Enabled {
			skip = skipAll(longTests, "takes long, seed 1 runs it if there is no race detector")
		}
		var tests methodtest.Tests
		for _, test := range methodtest.All {
			if seed == 1 || rng.IntN(udpSeedParts) == 0 {
				tests = append(tests, test)
			}
		}
		methodtest.RunTests(t, tests, func(methodtest.T) *methodtest.Subject {
			s := simUDPSubject(seed)
			s.Skip = skip
			return s
		})
	})
}
