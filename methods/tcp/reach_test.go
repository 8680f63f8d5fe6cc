package tcp_test

import (
	"net"
	"net/netip"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// freshPort is a port without a listener on any address of this machine.
func freshPort(t *testing.T) string {
	t.Helper()
	for {
		at := netip.MustParseAddrPort(hostPort(freshAddress()))
		port := strconv.Itoa(int(at.Port()))
		l, err := net.Listen("tcp", ":"+port)
		if err == nil {
			require.NoError(t, l.Close())
			return port
		}
	}
}

// TestReach connects in every way in which an endpoint can be addressed.
func TestReach(t *testing.T) {
	need.Loopback6(t)
	port, nobody := freshPort(t), freshAddress()
	for _, c := range []struct{ name, listen, connect string }{
		{"IPv4", "tcp://127.0.0.1:" + port, "tcp://127.0.0.1:" + port},
		{"IPv6", "tcp://[::1]:" + port, "tcp://[::1]:" + port},
		{"all addresses, by IPv4", "tcp://:" + port, "tcp://127.0.0.1:" + port},
		{"all addresses, by IPv6", "tcp://:" + port, "tcp://[::1]:" + port},
		{"IPv4 in IPv6's clothes", "tcp://127.0.0.1:" + port, "tcp://[::ffff:127.0.0.1]:" + port},
		{"by name", "tcp://localhost:" + port, "tcp://localhost:" + port},
		{"a name with two addresses, one of which listens", "tcp://127.0.0.1:" + port, "tcp://localhost:" + port},
		{"the second alternative", "tcp://127.0.0.1:" + port, nobody + ",tcp://127.0.0.1:" + port},
		{"the third, of another family", "tcp://[::1]:" + port, nobody + "," + "tcp://127.0.0.1:" + port + ",tcp://[::1]:" + port},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, client := openNode(t, tcp.Options{}, c.listen), openNode(t, tcp.Options{})
			toServer := client.lookup(c.connect)
			toClient := greet(client, server, toServer)
			exchange(client, server, toServer, toClient, 1, 100_000)
			require.Equal(t, toServer, client.lookup(toServer.String()), "lookup of its text")
			require.EqualValues(t, 1, client.stats().Connects)
		})
	}
}
