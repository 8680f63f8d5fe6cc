//go:build linux

package kernel

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack/stacktest"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var loopback4 = netip.MustParseAddrPort("127.0.0.1:0")

func open(t testing.TB, o Options) *Stack {
	s, err := Open(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func factory(o Options, at netip.AddrPort) stacktest.Factory {
	return func(t *testing.T) *stacktest.Subject {
		return &stacktest.Subject{
			Open: func() stack.Stack { return open(t, o) },
			Addr: func(stack.Stack) netip.AddrPort { return at },

			Timeout: wallclock.Patience,
		}
	}
}

func TestConformance(t *testing.T) { stacktest.Run(t, factory(Options{}, loopback4)) }

// TestConformanceOfPages sends files on this host in the way used for another
// host.
func TestConformanceOfPages(t *testing.T) {
	stacktest.RunAgain(t, factory(Options{PagesOnly: true}, loopback4))
}

func TestConformanceIPv6(t *testing.T) {
	need.Loopback6(t)
	stacktest.Run(t, factory(Options{}, netip.MustParseAddrPort("[::1]:0")))
}

func TestConformanceSmallBuffers(t *testing.T) {
	stacktest.RunAgain(t, factory(Options{SendBuffer: 16 << 10, RecvBuffer: 48 << 10}, loopback4))
}
