package udp

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestNamesOfPeers: a requesting side may claim any name that is a valid address.
func TestNamesOfPeers(t *testing.T) {
	for name, want := range map[string]string{
		"192.0.2.7:7000":                "192.0.2.7:7000",
		"[2001:db8::1]:7000":            "[2001:db8::1]:7000",
		"node7:7000":                    "node7:7000",
		"Node7:7000":                    "node7:7000",
		"[::]:7000":                     "192.0.2.1:7000",
		"0.0.0.0:7000":                  "192.0.2.1:7000",
		":7000":                         "192.0.2.1:7000",
		"[fe80::1%eth0]:7000":           "192.0.2.1:7000",
		"[fe80::1%\x1b2J\n]:7000":       "192.0.2.1:7000",
		"":                              "~192.0.2.1:4001",
		"node7:0":                       "~192.0.2.1:4001",
		"node7":                         "~192.0.2.1:4001",
		"~10.0.0.1:5":                   "~192.0.2.1:4001",
		"\x1b[2Jnode7:7000":             "~192.0.2.1:4001",
		"node7\n2026 all is well: x:70": "~192.0.2.1:4001",
	} {
		assert.Equal(t, want, peerName(netip.MustParseAddrPort("192.0.2.1:4001"), name), "%q", name)
	}
}
