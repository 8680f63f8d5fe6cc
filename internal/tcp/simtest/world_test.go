package simtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	simstack "github.com/viaduct-hpc/viaduct/internal/tcp/stack/sim"
	"github.com/viaduct-hpc/viaduct/methods/methodtest"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// simScheme is the method's name over a simulated network.
const simScheme = "tcp+sim"

// simDriver opens the method over the simulated host named by its options, so
// that every test has its own world.
type simDriver struct{}

type simOptions struct {
	host *simstack.Host
	tcp  tcp.Options
}

func init() { bmi.Register(simDriver{}) }

func (simDriver) Name() string { return simScheme }

func (simDriver) Open(ctx context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	opts, ok := cfg.Options.(simOptions)
	if !ok {
		return nil, fmt.Errorf("%w: %s needs a world", bmi.ErrInvalid, simScheme)
	}
	cfg.Options = opts.tcp
	return tcp.DriverOver(simScheme, func(tcp.Options) (stack.Stack, error) {
		return opts.host.Open(), nil
	}).Open(ctx, cfg)
}

// simWorld is the world of a subject: every endpoint has its own machine.
type simWorld struct {
	seed   uint64
	rng    *rand.Rand // for the choices of the test
	sim    *sim.World
	net    *simstack.Network
	names  map[string]netip.AddrPort
	last   netip.Addr // given to a machine
	opened uint64
}

func newSimWorld(seed uint64, link sim.LinkOptions, opts simstack.Options) *simWorld {
	w := &simWorld{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 11)),
		sim:   sim.New(sim.Options{Seed: seed, Link: link}),
		names: make(map[string]netip.AddrPort), last: netip.MustParseAddr("10.0.0.0"),
	}
	w.net = simstack.New(w.sim, opts)
	return w
}

// address is where the endpoint called name listens.
func (w *simWorld) address(name string) string {
	at, ok := w.names[name]
	if !ok {
		w.last = w.last.Next()
		at = netip.AddrPortFrom(w.last, 3334)
		w.names[name] = at
		w.net.Host(w.last)
	}
	return simScheme + "://" + at.String()
}

// hostOf is the machine behind an address.
func (w *simWorld) hostOf(address string) *simstack.Host {
	at, err := netip.ParseAddrPort(strings.TrimPrefix(address, simScheme+"://"))
	if err != nil {
		w.last = w.last.Next()
		return w.net.Host(w.last)
	}
	return w.net.Host(at.Addr())
}

// open opens an endpoint.
func (w *simWorld) open(ctx context.Context, cfg bmi.Config, opts tcp.Options) (*bmi.Endpoint, error) {
	w.opened++
	opts.Seed, opts.Idle = w.seed<<16+w.opened, w.net.Idle
	at := ""
	if len(cfg.Listen) > 0 {
		at = cfg.Listen[0]
	}
	cfg.Clock = w.net.Clock
	cfg.Options = map[string]any{simScheme: simOptions{w.hostOf(at), opts}}
	return bmi.Open(ctx, cfg)
}

// crash ends an endpoint, with its machine or without.
func (w *simWorld) crash(t methodtest.T, e *bmi.Endpoint) {
	how := simstack.Killed
	if w.rng.IntN(2) == 0 {
		how = simstack.Vanished
	}
	w.hostOf(e.Addresses()[0]).Crash(how)
	t.Cleanup(func() { _ = e.Close() })
}

// step advances virtual time, but not far, because the method has its own
// time-outs.
func (w *simWorld) step() {
	const most = 2 * time.Millisecond
	if next, ok := w.sim.Next(); ok && next <= w.sim.Now()+most {
		w.sim.Step()
	} else {
		w.sim.RunFor(most)
	}
}

// subject is a subject in virtual time that only the suite advances.
func (w *simWorld) subject() *methodtest.Subject {
	return &methodtest.Subject{
		Seeds:      []uint64{w.seed},
		Address:    w.address,
		Crash:      w.crash,
		OneWay:     true,
		HeadOfLine: true,
		Open: func(ctx context.Context, cfg bmi.Config) (*bmi.Endpoint, error) {
			return w.open(ctx, cfg, tcp.Options{})
		},
		Step: w.step,
	}
}

// heavy are the tests of the suite that move the most bytes. They are not run
// with tiny segments and buffers, and only by the first seeds.
var heavy = map[string]bool{
	"Large": true, "LargeBothWays": true, "LargeManyAtOnce": true, "LargeAlloc": true, "EarlyFlood": true,
	"CancelDuringTransfer": true, "CrashDuringTransfer": true, "MaxExpectedSize": true, "ListSplits": true,
	"SizesAroundEdges": true, "ListRandomSplits": true, "ListAgainstOnePiece": true, "Alloc": true,
	"FileSizes": true, "FileShrinks": true, "FileCancel": true, "FileCrash": true,
}

// heavySeedsMax is the number of seeds that run the heavy tests.
const heavySeedsMax = 8

// The share of tests for a seed: see methodtest.Tests.Share.
const (
	wholeSeeds      = 2
	wholeSeedsShort = 1 // with -short
	seedParts       = 16
)

// TestConformance runs the conformance suite over networks of every kind:
// segments from one byte on, small buffers, late events and events without a
// reason, losses, refused connections.
func TestConformance(t *testing.T) {
	whole, small := uint64(wholeSeeds), 100
	if testing.Short() {
		whole, small = wholeSeedsShort, 1000
	}
	sim.RunAtMost(t, 100, func(t *testing.T, seed uint64) {
		methodtest.RunTests(t, methodtest.All.Share(seed, whole, seedParts), func(t methodtest.T) *methodtest.Subject {
			rng := rand.New(rand.NewPCG(seed, 1))
			opts, link := simstack.RandomOptions(rng), sim.RandomLink(rng)
			least := small
			if heavy[path.Base(t.Name())] {
				if seed > heavySeedsMax {
					t.Skipf("takes long, the first %d seeds run it", heavySeedsMax)
				}
				least = 9000
			}
			opts.SegmentBytesMax = max(opts.SegmentBytesMax, least)
			opts.SendBytesMax, opts.RecvBytesMax = max(opts.SendBytesMax, least), max(opts.RecvBytesMax, least)
			return newSimWorld(seed, link, opts).subject()
		})
	})
}
