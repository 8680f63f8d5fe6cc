//go:build linux

package secure_test

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack/kernel"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack/secure"
	simstack "github.com/viaduct-hpc/viaduct/internal/tcp/stack/sim"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack/stacktest"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// config is of a shared key in a file.
func config(t testing.TB) *secure.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte(strings.Repeat("5eed", 16)), 0o600))
	cfg, err := secure.Files{Secret: file}.Load()
	require.NoError(t, err)
	return cfg
}

// over opens TLS over the kernel's sockets.
func over(t testing.TB, options kernel.Options, cfg *secure.Config) stack.Stack {
	t.Helper()
	inner, err := kernel.Open(options)
	require.NoError(t, err)
	s, err := secure.Over(inner, cfg)
	require.NoError(t, err)
	return s
}

// overKernel makes subjects over the kernel's sockets.
func overKernel(options kernel.Options) stacktest.Factory {
	return func(t *testing.T) *stacktest.Subject {
		cfg := config(t)
		return &stacktest.Subject{
			Open:      func() stack.Stack { return over(t, options, cfg) },
			Addr:      func(stack.Stack) netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:0") },
			Allocates: true,
			Timeout:   wallclock.Patience,
		}
	}
}

func TestConformance(t *testing.T) { stacktest.Run(t, overKernel(kernel.Options{})) }

func TestConformanceSmallBuffers(t *testing.T) {
	stacktest.RunAgain(t, overKernel(kernel.Options{SendBuffer: 16 << 10, RecvBuffer: 16 << 10}))
}

// TestConformanceSimulated runs it over networks of every kind, in virtual time.
func TestConformanceSimulated(t *testing.T) {
	seeds := 16
	if testing.Short() {
		seeds = 1
	}
	sim.RunAtMost(t, seeds, func(t *testing.T, seed uint64) {
		stacktest.Run(t, func(t *testing.T) *stacktest.Subject { return simulated(t, seed) })
	})
}

func simulated(t *testing.T, seed uint64) *stacktest.Subject {
	options := simstack.RandomOptions(rand.New(rand.NewPCG(seed, 1)))
	// The suite expects connections in the order of dialling, and all of them,
	// and that nothing happens in the end. It also moves many bytes.
	options.ConnectLoss, options.AcceptDelayMax, options.Exhausted, options.Backlog = 0, 0, 0, 0
	options.LoseOnClose, options.Spurious = 0, 0
	options.SegmentBytesMax = max(options.SegmentBytesMax, 9000)
	options.SendBytesMax, options.RecvBytesMax = max(options.SendBytesMax, 4096), max(options.RecvBytesMax, 4096)
	world := sim.New(sim.Options{Seed: seed, Link: sim.LinkOptions{DelayMin: time.Microsecond}})
	network := simstack.New(world, options)
	cfg := config(t)
	cfg.Inline, cfg.Clock = true, network.Clock
	cfg.HandshakeTimeout = time.Minute
	at := map[stack.Stack]netip.Addr{}
	last := netip.MustParseAddr("192.0.2.1")
	return &stacktest.Subject{
		Open: func() stack.Stack {
			s, err := secure.Over(network.Host(last).Open(), cfg)
			require.NoError(t, err)
			at[s] = last
			last = last.Next()
			return s
		},
		Addr:      func(s stack.Stack) netip.AddrPort { return netip.AddrPortFrom(at[s], 0) },
		Step:      func() { world.RunFor(20 * time.Microsecond) },
		Allocates: true,
	}
}
