package udp_test

import (
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp"
	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/secure"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl/vipltest"
)

// freeAddr returns an address on loopback that is not in use.
func freeAddr(t *testing.T) string {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer c.Close()
	return c.LocalAddr().String()
}

// TestViplConformance runs the conformance suite of the VI Architecture over sockets
// of the kernel, with both ends in one process and one goroutine.
func TestViplConformance(t *testing.T) {
	for name, p := range map[string]udp.Provider{
		"insecure": {Insecure: true, CloseDrain: -1},
		"secure":   {Key: secure.Source{Text: strings.Repeat("5eed", 16)}, CloseDrain: -1},
	} {
		t.Run(name, func(t *testing.T) {
			vipltest.Run(t, func(t *testing.T) vipltest.Setup {
				names := map[int]string{}
				return vipltest.Setup{
					Provider: p,
					Name: func(i int) string {
						if names[i] == "" {
							names[i] = freeAddr(t)
						}
						return names[i]
					},
					Step: func() bool {
						runtime.Gosched()
						return true
					},
					Seed:    1,
					Lingers: true,
				}
			})
		})
	}
}
