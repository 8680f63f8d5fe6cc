package methodtest

import (
	"net"
	"sync"

	"github.com/stretchr/testify/require"
)

// Named is a Subject.Address for methods whose addresses are names: scheme://name.
func Named(scheme string) func(name string) string {
	return func(name string) string { return scheme + "://" + name }
}

// UDPPorts is a Subject.Address for methods over datagrams. It gives each name a loopback
// address of scheme with a port that was free when the name was first used.
func UDPPorts(t T, scheme string) func(name string) string {
	var mu sync.Mutex // tests open endpoints from several goroutines
	ports := map[string]string{}
	return func(name string) string {
		mu.Lock()
		defer mu.Unlock()
		if ports[name] == "" {
			c, err := net.ListenPacket("udp", "127.0.0.1:0")
			require.NoError(t, err)
			ports[name] = c.LocalAddr().String()
			require.NoError(t, c.Close())
		}
		return scheme + "://" + ports[name]
	}
}
