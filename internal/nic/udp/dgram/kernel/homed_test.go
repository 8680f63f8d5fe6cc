//go:build linux

package kernel

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// homed is a socket at all addresses that reports the destination address.
func homed(t *testing.T, d *Device, at string) *socket {
	s := bound(t, d, netip.MustParseAddrPort(at))
	require.NoError(t, s.TellTo())
	return s
}

// answers makes one send to an address of all, which answers, alone and in a group.
// All answers must come from that address.
func answers(t *testing.T, one, all *socket, to netip.Addr) {
	t.Helper()
	in := room(4)
	send(t, one, packet(netip.AddrPortFrom(to, all.Addr().Port()), 10, 1))
	eventually(t, "it arrives", func() bool { return all.Recv(in) > 0 })
	require.Equal(t, to, in[0].To)
	require.Equal(t, []int{10, 10}, []int{in[0].Len, in[0].Size})

	answer := run(one.Addr(), 21, 1300)
	answer[20] = packet(one.Addr(), 10, 20)
	for i := range answer {
		answer[i].From = in[0].To
	}
	send(t, all, answer[20])
	send(t, all, answer...)
	for _, g := range receive(t, one, 22) {
		require.Equal(t, netip.AddrPortFrom(to, all.Addr().Port()), g.from)
	}
}

// reach waits until packets reach an address of this machine: in a new namespace, the
// first IPv6 packets get lost.
func reach(t *testing.T, d *Device, at netip.Addr) {
	t.Helper()
	s, in := bound(t, d, netip.AddrPortFrom(at, 0)), room(1)
	eventually(t, "IPv6 works", func() bool {
		send(t, s, packet(s.Addr(), 1, 1))
		return s.Recv(in) > 0
	})
	require.NoError(t, s.Close())
}

func TestAnswersComeFromWhereTheyAreExpected(t *testing.T) {
	d := open(t, Options{})
	for _, at := range []string{"0.0.0.0:0", "[::]:0"} {
		if at == "[::]:0" {
			need.Loopback6(t)
		}
		all, one := homed(t, d, at), bound(t, d, loopback4)
		for i := range 3 {
			answers(t, one, all, netip.AddrFrom4([4]byte{127, 0, 0, byte(i + 1)}))
		}
	}
}

func TestAnswersComeFromWhereTheyAreExpectedIPv6(t *testing.T) {
	need.Loopback6(t)
	inNetwork(t, 65536, func() {
		if !ip(t, "-6 addr add fd00::2/64 dev lo nodad") || !ip(t, "-6 addr add fd00::3/64 dev lo nodad") {
			return
		}
		d := open(t, Options{})
		all, one := homed(t, d, "[::]:0"), bound(t, d, loopback6)
		for _, to := range []string{"::1", "fd00::2", "fd00::3"} {
			reach(t, d, netip.MustParseAddr(to))
			answers(t, one, all, netip.MustParseAddr(to))
		}
	})
}

// Small packets and groups look the same with and without a requested destination
// address, on a socket with GRO.
func TestToldBesideAGroup(t *testing.T) {
	d := open(t, Options{})
	all, one := homed(t, d, "0.0.0.0:0"), bound(t, d, loopback4)
	to := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.9"), all.Addr().Port())
	in := room(1)
	joined(all)
	for grouped := false; !grouped; {
		send(t, one, run(to, 20, 1300)...)
		for came := 0; came < 20; {
			if all.Recv(in) > 0 {
				require.Equal(t, to.Addr(), in[0].To)
				require.Equal(t, 1300, in[0].Size)
				came += in[0].Len / in[0].Size
				grouped = grouped || in[0].Len > in[0].Size || !all.joins
			}
		}
	}
	silent := bound(t, d, netip.MustParseAddrPort("0.0.0.0:0"))
	send(t, one, packet(silent.Addr(), 10, 1))
	eventually(t, "it arrives", func() bool { return silent.Recv(in) > 0 })
	assert.False(t, in[0].To.IsValid(), "nobody asked, and what was there before is gone")
}

// A packet whose source address is no longer this machine's is sent all the same, and
// does not disable groups.
func TestAddressThatIsGone(t *testing.T) {
	d := open(t, Options{})
	nobody := netip.MustParseAddr("192.0.2.1") // RFC 5737
	for _, at := range []string{"0.0.0.0:0", "[::]:0"} {
		if at == "[::]:0" {
			need.Loopback6(t)
		}
		all, one := homed(t, d, at), bound(t, d, loopback4)
		batch := run(one.Addr(), 20, 1300)
		for i := range batch {
			batch[i].From = nobody
		}
		grouped := all.canGroup
		send(t, all, batch[0])
		send(t, all, batch...)
		// None of these can be grouped with its neighbour.
		for i := range 3 {
			batch[i].Pieces = packet(one.Addr(), 10+i, byte(i)).Pieces
		}
		send(t, all, batch[:3]...)
		for _, g := range receive(t, one, 24) {
			require.Equal(t, netip.AddrPortFrom(loopback4.Addr(), all.Addr().Port()), g.from)
		}
		assert.Zero(t, all.Stats().Unsent)
		assert.Equal(t, grouped, all.canGroup)
	}
	// An address of the other family has no effect on a socket with only one family.
	four, one := homed(t, d, "0.0.0.0:0"), bound(t, d, loopback4)
	p := packet(one.Addr(), 10, 1)
	p.From = netip.MustParseAddr("fd00::1")
	send(t, four, p)
	receive(t, one, 1)
}

func TestOneAddressTellsNothing(t *testing.T) {
	a, b := two(t, Options{})
	require.NoError(t, b.TellTo())
	in := room(1)
	send(t, a, packet(b.Addr(), 10, 1))
	eventually(t, "it arrives", func() bool { return b.Recv(in) > 0 })
	assert.False(t, in[0].To.IsValid())
	assert.False(t, b.tells, "and costs nothing")
}

func TestToldAddresses(t *testing.T) {
	four := func(a string) []byte {
		b := netip.MustParseAddr(a).As4()
		return message(28, unix.IPPROTO_IP, unix.IP_PKTINFO, append(append(make([]byte, 4), b[:]...), 1, 2, 3, 4)...)
	}
	six := func(a string) []byte {
		b := netip.MustParseAddr(a).As16()
		return message(36, unix.IPPROTO_IPV6, unix.IPV6_PKTINFO, append(b[:], 0, 0, 0, 0)...)
	}
	for want, control := range map[string][]byte{
		"10.0.0.1":     four("10.0.0.1"),
		"10.0.0.2":     six("::ffff:10.0.0.2"),
		"fd00::1":      append(gro(5), six("fd00::1")...),
		"invalid IP":   four("255.255.255.255"),
		"invalid IP ":  four("224.0.0.1"),
		"invalid IP  ": six("ff02::1"),
		"invalid IP	":  six("::"),
	} {
		s := saidIn(control, 5)
		assert.Equal(t, 5, s.size)
		assert.Equal(t, fmt.Sprint(s.to), want[:len(fmt.Sprint(s.to))], want)
	}
	assert.Equal(t, said{}, saidIn(message(27, unix.IPPROTO_IP, unix.IP_PKTINFO, make([]byte, 11)...), 5))
	assert.Equal(t, said{}, saidIn(message(35, unix.IPPROTO_IPV6, unix.IPV6_PKTINFO, make([]byte, 19)...), 5))
}

func TestHomedAllocatesNothing(t *testing.T) {
	d := open(t, Options{})
	all, one := homed(t, d, "0.0.0.0:0"), bound(t, d, loopback4)
	in := room(4)
	p := packet(netip.AddrPortFrom(loopback4.Addr(), all.Addr().Port()), 10, 1)
	back := packet(one.Addr(), 10, 1)
	back.From = loopback4.Addr()
	there, here := []dgram.Packet{p}, []dgram.Packet{back}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = one.Send(there)
		for came := 0; came == 0; came = all.Recv(in) {
		}
		_, _ = all.Send(here)
		for came := 0; came == 0; came = one.Recv(in) {
		}
	}))
}
