//go:build linux

package kernel

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/netns"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

func TestPathMTUOfTheLoopback(t *testing.T) {
	a, b := two(t, Options{})
	assert.Equal(t, dgram.PayloadMax, a.PathMTU(b.Addr()))
	mapped := netip.AddrPortFrom(netip.AddrFrom16(b.Addr().Addr().As16()), 0)
	assert.Equal(t, dgram.PayloadMax, a.PathMTU(mapped))
	assert.Len(t, a.paths.known, 1)
	assert.Equal(t, dgram.PayloadMin, a.PathMTU(netip.AddrPort{}))
	nowhere := netip.MustParseAddrPort("255.255.255.255:1") // forbidden without SO_BROADCAST
	assert.Equal(t, dgram.PayloadMin, a.PathMTU(nowhere))
}

func TestPathMTUOfTheLoopbackIPv6(t *testing.T) {
	need.Loopback6(t)
	s := bound(t, open(t, Options{}), loopback6)
	assert.Equal(t, 65536-headers6, s.PathMTU(s.Addr()))
}

func TestPathsGrowOld(t *testing.T) {
	var p paths
	now := time.Unix(1000, 0)
	ip := loopback4.Addr()
	p.keep(ip, path{1400, now})
	assert.Equal(t, 1400, p.find(ip, now.Add(dgram.PathMTUAge-1)))
	assert.Zero(t, p.find(ip, now.Add(dgram.PathMTUAge)))
	p.forget(netip.AddrPortFrom(ip, 80))
	assert.Zero(t, p.find(ip, now))
}

func TestPathsAreBounded(t *testing.T) {
	var p paths
	now := time.Unix(1000, 0)
	address := func(i int) netip.Addr {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], uint32(i))
		return netip.AddrFrom4(b)
	}
	for i := range pathsMax - 1 {
		p.keep(address(i), path{1400, now})
	}
	now = now.Add(dgram.PathMTUAge)
	p.keep(address(pathsMax), path{1400, now})
	p.keep(address(pathsMax+1), path{1400, now})
	assert.Len(t, p.known, 2, "what is too old goes first")
	for i := range 3 * pathsMax {
		p.keep(address(i), path{1400, now})
		require.LessOrEqual(t, len(p.known), pathsMax)
	}
}

// inNetwork runs a test in a new network namespace, whose loopback has the given
// MTU. The thread ends with the goroutine, because it stays locked.
func inNetwork(t *testing.T, mtu int, test func()) {
	netns.Need(t)
	within(t, mtu, test)
}

// within is inNetwork where networks are known to be possible.
func within(t *testing.T, mtu int, test func()) {
	done := make(chan struct{})
	var cannot error
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			cannot = err
			return
		}
		if !assert.NoError(t, setLink(unix.SIOCSIFMTU, uint32(mtu))) ||
			!assert.NoError(t, setLink(unix.SIOCSIFFLAGS, unix.IFF_UP)) {
			return
		}
		test()
	}()
	<-done
	require.NoError(t, cannot)
}

// setLink is an ioctl for the loopback.
func setLink(request uintptr, value uint32) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint32(value)
	if _, _, no := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(ifr))); no != 0 {
		return no
	}
	return nil
}

// On a link like Ethernet, larger packets are too big, alone and in a group, and
// later ones are sent; when the link's MTU changes, so does the result.
func TestLinkOf1500(t *testing.T) {
	inNetwork(t, 1500, func() {
		a, b := two(t, Options{})
		most := 1500 - headers4
		assert.Equal(t, most, a.PathMTU(b.Addr()))
		batch := run(b.Addr(), 4, most+1)
		batch = append(batch, run(b.Addr(), 4, most)...)
		batch = append(batch, packet(b.Addr(), most+1, 4))
		n, err := a.Send(batch)
		assert.NoError(t, err)
		assert.Equal(t, len(batch), n)
		for i := range batch {
			assert.Equal(t, len(batch[i].Pieces[0]) > most, batch[i].TooBig, "packet %d", i)
		}
		assert.EqualValues(t, 5, a.Stats().TooBig)
		assert.EqualValues(t, 3, a.Stats().SentGrouped, "the first was the short end of the group before")
		assert.True(t, a.canGroup)
		assert.Empty(t, a.paths.known, "asked again")
		received := 0
		for in := room(4); ; {
			n := b.Recv(in)
			if n == 0 {
				break
			}
			received += len(split(t, in[:n]))
		}
		assert.Equal(t, 4, received)

		assert.NoError(t, setLink(unix.SIOCSIFMTU, 1300))
		one := []dgram.Packet{packet(b.Addr(), most, 1)}
		_, err = a.Send(one)
		assert.NoError(t, err)
		assert.True(t, one[0].TooBig)
		assert.Equal(t, 1300-headers4, a.PathMTU(b.Addr()))
	})
}

func TestLinkSmallerThanAnything(t *testing.T) {
	inNetwork(t, 600, func() {
		a, b := two(t, Options{})
		assert.Equal(t, dgram.PayloadMin, a.PathMTU(b.Addr()))
		one := []dgram.Packet{packet(b.Addr(), dgram.PayloadMin, 1)}
		_, err := a.Send(one)
		assert.NoError(t, err)
		assert.True(t, one[0].TooBig, "not fragmented")
	})
}

// The learnt MTU of a path affects PathMTU, but does not prevent larger packets,
// because any host can forge it (ICMP).
func TestPathSmallerThanItsLink(t *testing.T) {
	inNetwork(t, 65536, func() {
		if !ip(t, "link add here type veth peer name there") || !ip(t, "addr add 10.0.0.1/24 dev here") ||
			!ip(t, "link set here up") || !ip(t, "link set there up") ||
			!ip(t, "route add 10.1.0.0/16 via 10.0.0.2 dev here mtu 1400") {
			return
		}
		s := bound(t, open(t, Options{}), netip.MustParseAddrPort("0.0.0.0:0"))
		near, far := netip.MustParseAddrPort("10.0.0.2:9"), netip.MustParseAddrPort("10.1.0.1:9")
		assert.Equal(t, 1500-headers4, s.PathMTU(near))
		assert.Equal(t, 1400-headers4, s.PathMTU(far))
		one := []dgram.Packet{packet(far, 1500-headers4, 1)}
		_, err := s.Send(one)
		assert.NoError(t, err)
		assert.False(t, one[0].TooBig)
		assert.EqualValues(t, 1, s.Stats().Sent)

		if ip(t, "addr add 10.0.0.3/24 dev here") && ip(t, "rule add from 10.0.0.3 table 100") &&
			ip(t, "route add 10.1.0.0/16 via 10.0.0.2 dev here mtu 1300 table 100") {
			s = bound(t, s.d, netip.MustParseAddrPort("10.0.0.3:0"))
			assert.Equal(t, 1300-headers4, s.PathMTU(far), "the route depends on the sender")
		}
	})
}
