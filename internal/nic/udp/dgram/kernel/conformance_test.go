//go:build linux

package kernel

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram/dgramtest"
)

func suite(t *testing.T, o Options, at netip.AddrPort) {
	dgramtest.Run(t, func(t *testing.T) *dgramtest.Subject {
		return &dgramtest.Subject{
			Open: func() dgram.Device {
				d, err := Open(o)
				require.NoError(t, err)
				return d
			},
			Addr: func(dgram.Device) netip.Addr { return at.Addr() },
		}
	})
}

func TestConformance(t *testing.T) {
	for name, o := range map[string]Options{"groups": {}, "alone": {NoGSO: true, NoGRO: true}} {
		t.Run(name, func(t *testing.T) { suite(t, o, loopback4) })
	}
}

func TestConformanceIPv6(t *testing.T) {
	need.Loopback6(t)
	suite(t, Options{}, loopback6)
}
