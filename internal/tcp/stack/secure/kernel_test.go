//go:build linux

package secure

import (
	"crypto/tls"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
	"github.com/viaduct-hpc/viaduct/internal/tcp/stack/kernel"
)

// TestRefusalArrivesThroughTheKernel has both owners close a failed stream at
// once, with unread bytes under way. A real kernel then discards what it had
// sent, unless the stack waits for the other side to read it.
func TestRefusalArrivesThroughTheKernel(t *testing.T) {
	anonymous := func() *Config {
		return bent(secretConfig(t, "a"), func(c *tls.Config) { c.Certificates = nil })
	}
	times := 30
	if testing.Short() {
		times = 6
	}
	for name, dialler := range map[string]func() *Config{
		"found by the dialler":  func() *Config { return secretConfig(t, "b") },
		"found by the listener": anonymous,
	} {
		t.Run(name, func(t *testing.T) {
			for range times {
				open := func(cfg *Config) *side {
					inner, err := kernel.Open(kernel.Options{})
					require.NoError(t, err)
					return newSide(t, inner, cfg)
				}
				client, server := open(dialler()), open(secretConfig(t, "a"))
				l, err := server.stack.Listen(netip.MustParseAddrPort("127.0.0.1:0"), 999)
				require.NoError(t, err)
				server.l, client.to = l, l.Addr()
				dialled, accepted := fate(t, client, server)
				require.ErrorIs(t, dialled, stack.ErrIdentity)
				require.ErrorIs(t, accepted, stack.ErrIdentity)
			}
		})
	}
}
