package mpi

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// TestChoosePlan: the plan, for the methods of the program and where it runs.
func TestChoosePlan(t *testing.T) {
	all := []string{"mem", "tcp", "via+shm", "via+udp"}
	for _, c := range []struct {
		asked   string
		drivers []string
		oneHost bool
		keyed   bool
		want    string
		exposed string
	}{
		{"", all, true, true, "via+shm", ""},
		{"", all, true, false, "via+shm", ""},
		{"", all, false, true, "via+shm, via+udp", ""},
		{"", all, false, false, "via+shm, tcp", "because the job has no key"},
		{"", []string{"via+shm", "via+udp"}, false, false, "via+shm, via+udp", ""}, // its error says how to set a key
		{"", []string{"tcp"}, true, true, "tcp", ""},
		{"", []string{"tcp"}, false, true, "tcp", "because the program has no via+udp to use its key with"},
		{"", []string{"via+udp"}, true, true, "via+udp", ""},
		{"", []string{"fast", "odd"}, true, true, "fast, odd", ""},
		{"", []string{"fast", "via+shm"}, false, true, "via+shm", ""},
		{"tcp", all, true, true, "tcp", ""},
		{" fast , via+shm", nil, false, false, "fast, via+shm", ""},
		{"tcp://10.0.0.1:5", all, false, false, "tcp", ""},
	} {
		around := surrounding{c.drivers, c.oneHost, c.keyed}
		pl, err := choosePlan(c.asked, around)
		require.NoError(t, err)
		assert.Equal(t, c.want, pl.String(), "%+v", c)
		assert.Equal(t, c.exposed, pl.exposed(c.asked, around), "%+v", c)
	}
	_, err := choosePlan("", surrounding{})
	require.ErrorIs(t, err, ErrOther)
	require.ErrorContains(t, err, `import _ "github.com/viaduct-hpc/viaduct/methods/via"`)
	for _, asked := range []string{",", "tcp,", "://x", " "} {
		_, err = choosePlan(asked, surrounding{drivers: all})
		require.ErrorIs(t, err, ErrArg, asked)
	}
}

// TestPlanAddresses: placeholders are filled in, and all forms are tried.
func TestPlanAddresses(t *testing.T) {
	pl, err := forced("via+shm,fast,slow,tcp://{host}:7,odd://a/{name}")
	require.NoError(t, err)
	assert.True(t, pl.needsHost())
	var tried [][]string
	forms := make([]int, len(pl))
	for {
		tried = append(tried, pl.addresses("me", "fe80::1", forms))
		if !pl.another(forms) {
			break
		}
	}
	of := func(fast, slow string) []string {
		return []string{"via+shm://me", fast, slow, "tcp://[fe80::1]:7", "odd://a/me"}
	}
	assert.Equal(t, [][]string{
		of("fast://me", "slow://me"), of("fast://[fe80::1]:0", "slow://me"),
		of("fast://me", "slow://[fe80::1]:0"), of("fast://[fe80::1]:0", "slow://[fe80::1]:0"),
	}, tried)
	pl, err = forced("via+shm,odd://x")
	require.NoError(t, err)
	assert.False(t, pl.needsHost())
}

// TestRoute: the address for a pair belongs to the first method that both have and that reaches the
// peer.
func TestRoute(t *testing.T) {
	pl, err := forced("via+shm,via+udp,tcp")
	require.NoError(t, err)
	peer := core.Card{Host: "a", Addresses: []string{"tcp://h:1", "via+shm://x", "other://y"}}
	assert.Equal(t, []string{"via+shm://x", "tcp://h:1"}, pl.route("a", peer))
	assert.Equal(t, []string{"tcp://h:1"}, pl.route("b", peer))
	peer.Addresses = peer.Addresses[1:]
	peer.ID = newJobNumber().id(1)
	assert.Empty(t, pl.route("b", peer))
	require.NoError(t, pl.checkRoutes(core.Card{Host: "a"}, []core.Card{peer}))
	err = pl.checkRoutes(core.Card{Host: "b"}, []core.Card{{}, peer})
	require.ErrorIs(t, err, ErrOther)
	require.ErrorContains(t, err, "rank 1 listens at [via+shm://x other://y], where this process cannot reach it by via+shm, via+udp, tcp")
}

// TestOpenTriesForms: a method without names gets a host.
func TestOpenTriesForms(t *testing.T) {
	pl := plan{{method: "tcp", forms: []string{"tcp://{name}", "tcp://{host}:0"}}, {method: "mem", forms: []string{"mem://{name}", "mem://{host}:0"}}}
	ep, err := pl.open(t.Context(), bmi.Config{}, "open-tries-forms", loopback, nil)
	require.NoError(t, err)
	addresses := ep.Addresses()
	require.Len(t, addresses, 2)
	assert.Regexp(t, `^tcp://127\.0\.0\.1:\d+$`, addresses[0])
	assert.Equal(t, "mem://open-tries-forms", addresses[1])
	require.NoError(t, ep.Close())

	pl, err = forced("nothing")
	require.NoError(t, err)
	_, err = pl.open(t.Context(), bmi.Config{}, "x", "h", nil)
	require.ErrorIs(t, err, ErrOther)
	require.ErrorIs(t, err, bmi.ErrUnknownMethod)
}

// TestListenHost: within a host the loopback address is enough; other hosts get one of this host's
// addresses.
func TestListenHost(t *testing.T) {
	host, err := listenHost(t.Context(), true)
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1", host)
	host, err = listenHost(t.Context(), false)
	require.NoError(t, err)
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	require.NoError(t, err, "it is an address of this machine")
	require.NoError(t, l.Close())

	var addrs []net.Addr
	for _, text := range []string{"127.0.0.1/8", "2001:db8::1/64", "fe80::1/64", "10.1.2.3/24", "::1/128", "192.168.0.4/16"} {
		ip, network, err := net.ParseCIDR(text)
		require.NoError(t, err)
		addrs = append(addrs, &net.IPNet{IP: ip, Mask: network.Mask})
	}
	addrs = append(addrs, &net.UnixAddr{Name: "x"})
	assert.Equal(t, []netip.Addr{netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("192.168.0.4"), netip.MustParseAddr("2001:db8::1")}, outward(addrs))
	id := hostID()
	assert.Equal(t, id, hostID())
	t.Setenv("VIADUCT_SHM_DIR", "/elsewhere")
	assert.NotEqual(t, id, hostID(), "processes that do not find each other's names share no memory")
}
