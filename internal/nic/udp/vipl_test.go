package udp_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/viaduct-hpc/viaduct/internal/freeport"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/secure"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl/vipltest"
)

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
							names[i] = freeport.UDPAddress(t)
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
