//go:build linux

package kernel

import (
	"net/netip"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

func TestOptionsOutOfRange(t *testing.T) {
	for name, o := range map[string]Options{
		"SendBuffer": {SendBuffer: -1},
		"RecvBuffer": {RecvBuffer: bufferBytesMax + 1},
	} {
		_, err := Open(o)
		assert.ErrorContains(t, err, name)
	}
}

func TestSocketsHaveTheOptions(t *testing.T) {
	o := Options{SendBuffer: 100_000, RecvBuffer: 150_000} // every user may have so much
	s := bound(t, open(t, o), loopback4)
	for _, want := range []struct{ level, option, value int }{
		{unix.SOL_SOCKET, unix.SO_SNDBUF, 2 * o.SendBuffer}, // socket(7): the kernel doubles it
		{unix.SOL_SOCKET, unix.SO_RCVBUF, 2 * o.RecvBuffer},
		{unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE},
	} {
		got, err := unix.GetsockoptInt(s.fd, want.level, want.option)
		require.NoError(t, err)
		assert.Equal(t, want.value, got, "option %d/%d", want.level, want.option)
	}
	flags, err := unix.FcntlInt(uintptr(s.fd), unix.F_GETFL, 0)
	require.NoError(t, err)
	assert.NotZero(t, flags&unix.O_NONBLOCK)
	flags, err = unix.FcntlInt(uintptr(s.fd), unix.F_GETFD, 0)
	require.NoError(t, err)
	assert.NotZero(t, flags&unix.FD_CLOEXEC)
}

func TestBuffersAreLarge(t *testing.T) {
	s := bound(t, open(t, Options{}), loopback4)
	got, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	require.NoError(t, err)
	if got < 2*RecvBufferDefault {
		t.Skipf("may have only %d bytes of buffer", got)
	}
	const count = 4000
	from := bound(t, s.d, loopback4)
	for range count / 50 {
		send(t, from, run(s.Addr(), 50, 1400)...)
	}
	receive(t, s, count)
}

func TestAddressesThatAreNone(t *testing.T) {
	d := open(t, Options{})
	for at, want := range map[netip.AddrPort]error{
		{}:                                       errBadAddress,
		netip.MustParseAddrPort("192.0.2.1:0"):   dgram.ErrNotHere, // RFC 5737: nobody's
		netip.MustParseAddrPort("[fe80::1%0]:0"): nil,
		netip.MustParseAddrPort("[fe80::1%nosuchinterface]:1"): errBadAddress,
	} {
		_, err := d.Open(at)
		require.Error(t, err)
		if want != nil {
			require.ErrorIs(t, err, want)
			require.ErrorContains(t, err, at.String())
		}
	}
}

func TestInUse(t *testing.T) {
	a, _ := two(t, Options{})
	_, err := a.d.Open(a.Addr())
	require.ErrorIs(t, err, dgram.ErrInUse)
	_, err = a.d.Open(netip.AddrPortFrom(netip.IPv4Unspecified(), a.Addr().Port()))
	require.ErrorIs(t, err, dgram.ErrInUse)
	require.NoError(t, a.Close())
	bound(t, a.d, a.Addr())
}

func TestUnspecified(t *testing.T) {
	d := open(t, Options{})
	all := bound(t, d, netip.MustParseAddrPort("0.0.0.0:0"))
	require.Equal(t, netip.IPv4Unspecified(), all.Addr().Addr())
	one := bound(t, d, loopback4)
	to := netip.AddrPortFrom(loopback4.Addr(), all.Addr().Port())
	send(t, one, packet(to, 10, 1))
	require.Equal(t, []got{{one.Addr(), 1, 10}}, receive(t, all, 1))
	send(t, all, packet(one.Addr(), 10, 2))
	require.Equal(t, []got{{to, 2, 10}}, receive(t, one, 1))
}

func TestIPv6(t *testing.T) {
	need.Loopback6(t)
	d := open(t, Options{})
	a, b := bound(t, d, loopback6), bound(t, d, loopback6)
	batch := append(run(b.Addr(), 50, 1400), packet(b.Addr(), 5, 50))
	batch = append(batch, packet(b.Addr(), 65536, 1), packet(loopback4, 10, 1))
	send(t, a, batch...)
	for i, g := range receive(t, b, 51) {
		require.Equal(t, a.Addr(), g.from)
		require.Equal(t, byte(i), g.number)
	}
	assert.True(t, batch[51].TooBig)
	assert.EqualValues(t, 1, a.Stats().TooBig)
	assert.EqualValues(t, 1, a.Stats().Unsent, "IPv4 from an IPv6 address")
	for _, option := range []int{unix.IPV6_MTU_DISCOVER, unix.IPV6_V6ONLY} {
		got, err := unix.GetsockoptInt(a.fd, unix.IPPROTO_IPV6, option)
		require.NoError(t, err)
		assert.Equal(t, map[int]int{unix.IPV6_MTU_DISCOVER: unix.IPV6_PMTUDISC_PROBE, unix.IPV6_V6ONLY: 1}[option], got)
	}
}

func TestDualStack(t *testing.T) {
	need.Loopback6(t)
	d := open(t, Options{})
	all := bound(t, d, netip.MustParseAddrPort("[::]:0"))
	require.Equal(t, netip.IPv6Unspecified(), all.Addr().Addr())
	port := all.Addr().Port()
	for i, from := range []netip.AddrPort{loopback4, loopback6} {
		one := bound(t, d, from)
		send(t, one, packet(netip.AddrPortFrom(from.Addr(), port), 10, byte(i)))
		require.Equal(t, []got{{one.Addr(), byte(i), 10}}, receive(t, all, 1))
		send(t, all, packet(one.Addr(), 10, byte(i)))
		require.Equal(t, netip.AddrPortFrom(from.Addr(), port), receive(t, one, 1)[0].from)
		send(t, all, run(one.Addr(), 20, 1300)...)
		receive(t, one, 20)
		mapped := netip.AddrPortFrom(netip.AddrFrom16(one.Addr().Addr().As16()), one.Addr().Port())
		send(t, all, packet(mapped, 10, 9))
		require.Equal(t, byte(9), receive(t, one, 1)[0].number)
	}
	got, err := unix.GetsockoptInt(all.fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER)
	require.NoError(t, err)
	assert.Equal(t, unix.IP_PMTUDISC_PROBE, got, "for its IPv4 packets")
}

func TestZones(t *testing.T) {
	var z zones
	var n name
	at := netip.MustParseAddrPort("[fe80::1%7]:80")
	size := z.write(&n, at, unix.AF_INET6)
	require.NotZero(t, size)
	require.EqualValues(t, 7, n.Scope_id)
	require.Equal(t, at, z.read(&n, size))
	assert.Zero(t, testing.AllocsPerRun(10, func() {
		z.write(&n, at, unix.AF_INET6)
		z.read(&n, size)
	}))
	require.Zero(t, z.write(&n, netip.MustParseAddrPort("[fe80::1%nosuchinterface]:80"), unix.AF_INET6))
	require.Equal(t, uint32(unix.SizeofSockaddrInet6), z.write(&n, netip.MustParseAddrPort("[fe80::1%lo]:80"), unix.AF_INET6))
	require.NotZero(t, n.Scope_id)
}

// The kernel's description of a sender is accepted only if it is consistent.
func TestAddressesTheKernelWrote(t *testing.T) {
	var z zones
	n := name{Family: unix.AF_INET6}
	for size := range uint32(unix.SizeofSockaddrInet6) {
		assert.False(t, z.read(&n, size).IsValid())
	}
	n.Family = unix.AF_INET
	for size := range uint32(unix.SizeofSockaddrInet4) {
		assert.False(t, z.read(&n, size).IsValid())
	}
	n.Family = unix.AF_UNIX
	assert.False(t, z.read(&n, unix.SizeofSockaddrInet6).IsValid())
}

func descriptors(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

func TestNoDescriptorStays(t *testing.T) {
	d, err := Open(Options{})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	before := descriptors(t)
	for range 5 {
		d, err := Open(Options{})
		require.NoError(t, err)
		s := bound(t, d, loopback4)
		bound(t, d, loopback4)
		_, err = d.Open(s.Addr())
		require.Error(t, err)
		_, err = d.Open(netip.MustParseAddrPort("192.0.2.1:0"))
		require.Error(t, err)
		s.PathMTU(s.Addr())
		s.PathMTU(netip.MustParseAddrPort("255.255.255.255:1"))
		require.NoError(t, s.Close())
		require.NoError(t, d.Close())
	}
	assert.Equal(t, before, descriptors(t))
}

func TestOutOfDescriptors(t *testing.T) {
	a, b := two(t, Options{})
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	tight := before
	tight.Cur = 3
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &tight))
	_, openErr := a.d.Open(loopback4)
	_, deviceErr := Open(Options{})
	mtu := a.PathMTU(b.Addr())
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
	require.ErrorIs(t, openErr, dgram.ErrExhausted)
	require.ErrorIs(t, deviceErr, dgram.ErrExhausted)
	assert.Equal(t, dgram.PayloadMin, mtu)
	bound(t, a.d, loopback4)
}
