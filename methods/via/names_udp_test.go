package via_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// openUDP opens an endpoint that listens, and tells where.
func openUDP(t *testing.T, listen string) (*bmi.Endpoint, netip.AddrPort, string) {
	ep, err := bmi.Open(t.Context(), bmi.Config{Listen: []string{"via+udp://" + listen}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ep.Close()) })
	require.Len(t, ep.Addresses(), 1)
	name := ep.Addresses()[0]
	port := name[strings.LastIndexByte(name, ':')+1:]
	return ep, netip.MustParseAddrPort("127.0.0.1:" + port), name
}

// call sends an unexpected message to an address, takes it there, and returns the name of its
// sender.
func call(t *testing.T, from, at *bmi.Endpoint, to string) string {
	return caller(t, from, at, to).String()
}

// caller is call, but returns the address.
func caller(t *testing.T, from, at *bmi.Endpoint, to string) bmi.Addr {
	ctx, cancel := context.WithTimeout(t.Context(), wallclock.Patience)
	defer cancel()
	addr, err := from.Lookup(to)
	require.NoError(t, err)
	c, err := from.OpenContext()
	require.NoError(t, err)
	require.NoError(t, c.SendUnexpected(ctx, addr, 0, 1, []byte("hello")))
	var in [1]bmi.Unexpected
	require.Eventually(t, func() bool {
		n, err := at.TestUnexpected(in[:], 10*time.Millisecond)
		return err == nil && n == 1
	}, wallclock.Patience, time.Millisecond)
	defer in[0].Release()
	assert.Equal(t, "hello", string(in[0].Data))
	require.NoError(t, c.Close())
	return in[0].From
}

// TestUDPSidesThatListenEverywhere: neither side knows which of its addresses the other one sees. Still, each can answer the
// other, also over a new connection.
func TestUDPSidesThatListenEverywhere(t *testing.T) {
	t.Setenv("VIADUCT_UDP_KEY", "correct horse battery staple")
	for _, listen := range []string{"[::]:0", "0.0.0.0:0", ":0"} {
		t.Run(listen, func(t *testing.T) {
			a, aAt, _ := openUDP(t, listen)
			b, bAt, _ := openUDP(t, listen)
			from := call(t, a, b, "via+udp://"+bAt.String())
			assert.Equal(t, "via+udp://"+aAt.String(), from)
			assert.Equal(t, "via+udp://"+bAt.String(), call(t, b, a, from), "over the same connection")

			c, cAt, _ := openUDP(t, "127.0.0.1:0")
			assert.Equal(t, "via+udp://"+cAt.String(), call(t, c, a, "via+udp://"+aAt.String()))
			assert.Equal(t, "via+udp://"+bAt.String(), call(t, b, c, "via+udp://"+cAt.String()))
		})
	}
}

// TestUDPNames: localhost is 127.0.0.1 for one listener and ::1 for another, and a client
// finds out which.
func TestUDPNames(t *testing.T) {
	need.Loopback6(t)
	t.Setenv("VIADUCT_UDP_KEY", "correct horse battery staple")
	client, _, _ := openUDP(t, "[::]:0")

	named, at, name := openUDP(t, "LocalHost:0")
	assert.Equal(t, "via+udp://localhost:"+strings.TrimPrefix(at.String(), "127.0.0.1:"), name)
	call(t, client, named, name)

	six, err := bmi.Open(t.Context(), bmi.Config{Listen: []string{"via+udp://[::1]:0"}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, six.Close()) })
	call(t, client, six, strings.Replace(six.Addresses()[0], "[::1]", "localhost", 1))
}

func TestUDPAddressesHaveOneForm(t *testing.T) {
	t.Setenv("VIADUCT_UDP_INSECURE", "1")
	ep, _, _ := openUDP(t, "127.0.0.1:0")
	one, err := ep.Lookup("via+udp://[2001:DB8:0::1]:7000")
	require.NoError(t, err)
	other, err := ep.Lookup("via+udp://[2001:db8::1]:7000")
	require.NoError(t, err)
	assert.Equal(t, one, other)
	for in, says := range map[string]string{
		"node7":        "want HOST:PORT",
		"node7:seven":  `port "seven"`,
		"node7:0":      "port 0 is only for listening",
		"0.0.0.0:7000": "0.0.0.0 is only for listening",
		"node/7:7000":  "'/' cannot stand",
	} {
		_, err := ep.Lookup("via+udp://" + in)
		require.ErrorIs(t, err, bmi.ErrBadAddress, in)
		assert.ErrorContains(t, err, says, in)
	}
}

func TestUDPListenersSayWhatIsWrongWithAnAddress(t *testing.T) {
	t.Setenv("VIADUCT_UDP_INSECURE", "1")
	for in, says := range map[string]string{
		"node7":        "want HOST:PORT",
		"192.0.2.1:70": "not an address of this machine",
	} {
		_, err := bmi.Open(t.Context(), bmi.Config{Listen: []string{"via+udp://" + in}})
		require.ErrorIs(t, err, bmi.ErrBadAddress, in)
		assert.ErrorContains(t, err, says, in)
	}
}

// TestUDPUnknownNamesFail: operations that wait for an unknown name fail, and other
// connections continue meanwhile.
func TestUDPUnknownNamesFail(t *testing.T) {
	t.Setenv("VIADUCT_UDP_INSECURE", "1")
	a, _, _ := openUDP(t, "127.0.0.1:0")
	b, bAt, _ := openUDP(t, "127.0.0.1:0")
	nobody, err := a.Lookup("via+udp://nowhere.invalid:7000")
	require.NoError(t, err)
	c, err := a.OpenContext()
	require.NoError(t, err)
	_, err = c.PostSendUnexpected(nobody, 0, 1, []byte("hello"), nil)
	require.NoError(t, err)
	call(t, a, b, "via+udp://"+bAt.String())
	var done [1]bmi.Completion
	require.Eventually(t, func() bool {
		n, err := c.TestContext(done[:], 10*time.Millisecond)
		return err == nil && n == 1
	}, wallclock.Patience, time.Millisecond)
	require.ErrorIs(t, done[0].Err, bmi.ErrUnreachable)
}

// TestUDPSources: for a peer that connected to this side, the source address of its packets is reported, with any name that it
// gives itself. For a peer to which this side connected, only the name that was used is.
func TestUDPSources(t *testing.T) {
	t.Setenv("VIADUCT_UDP_KEY", "correct horse battery staple")
	server, _, name := openUDP(t, "127.0.0.1:0")
	for listen, prefix := range map[string]string{"": "via+udp://~127.0.0.1:", "localhost:0": "via+udp://localhost:"} {
		cfg := bmi.Config{}
		if listen != "" {
			cfg.Listen = []string{"via+udp://" + listen}
		}
		ep, err := bmi.Open(t.Context(), cfg)
		require.NoError(t, err)
		at := caller(t, ep, server, name)
		require.True(t, strings.HasPrefix(at.String(), prefix), at)
		source := server.SourceAddr(at)
		require.Equal(t, "127.0.0.1", source.Addr().String())
		for pattern, want := range map[string]bool{"via+udp://127.0.0.1:*": true, "via+udp://localhost:*": false, "via+udp://~*": false} {
			in, err := server.QueryAddrRange(at, pattern)
			require.NoError(t, err)
			require.Equal(t, want, in, "%s in %s", at, pattern)
		}
		to, err := ep.Lookup(name)
		require.NoError(t, err)
		require.False(t, ep.SourceAddr(to).IsValid())
		require.NoError(t, ep.Close())
	}
}
