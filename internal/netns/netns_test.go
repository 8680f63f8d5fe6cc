//go:build linux

package netns

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// socket opens a UDP socket on a host.
func socket(t *testing.T, h *Host, at netip.Addr) *net.UDPConn {
	t.Helper()
	c, err := h.ListenUDP(netip.AddrPortFrom(at, 0))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func addrOf(c *net.UDPConn) netip.AddrPort { return c.LocalAddr().(*net.UDPAddr).AddrPort() }

// exchange sends a datagram from each host to each other one.
func exchange(t *testing.T, n *Net, at func(*Host) netip.Addr) {
	t.Helper()
	var socks []*net.UDPConn
	for _, h := range n.Hosts {
		socks = append(socks, socket(t, h, at(h)))
	}
	for _, from := range socks {
		for _, to := range socks {
			_, err := from.WriteToUDPAddrPort([]byte("hello"), addrOf(to))
			require.NoError(t, err)
			require.NoError(t, to.SetReadDeadline(time.Now().Add(wallclock.Patience)))
			buf := make([]byte, 100)
			k, who, err := to.ReadFromUDPAddrPort(buf)
			require.NoError(t, err, "%s to %s", addrOf(from), addrOf(to))
			assert.Equal(t, "hello", string(buf[:k]))
			assert.Equal(t, addrOf(from), who)
		}
	}
}

func TestHostsReachEachOther(t *testing.T) {
	for name, opts := range map[string]Options{
		"wire": {}, "wire from here": {Here: true}, "switch": {Hosts: 4, Join: Switch},
		"router": {Hosts: 4, Join: Router}, "large packets": {MTU: 9000},
	} {
		t.Run(name, func(t *testing.T) {
			n := New(t, opts)
			exchange(t, n, func(h *Host) netip.Addr { return h.Addr })
			if n.Hosts[0].Addr6.IsValid() {
				exchange(t, n, func(h *Host) netip.Addr { return h.Addr6 })
			}
		})
	}
}

// namespace returns the name of the thread's namespace.
func namespace() (name string) {
	name, _ = os.Readlink(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	return name
}

func TestDoAndStart(t *testing.T) {
	n := New(t, Options{})
	here, seen := namespace(), map[string]bool{}
	for _, h := range n.Hosts {
		require.NoError(t, h.Do(func() error { seen[namespace()] = true; return nil }))
	}
	assert.Len(t, seen, 2)
	assert.False(t, seen[here])
	assert.Equal(t, here, namespace(), "the test stays where it was")

	h := n.Hosts[0]
	out, err := h.Run("readlink", "/proc/self/ns/net")
	require.NoError(t, err)
	assert.True(t, seen[strings.TrimSpace(out)], "a child is on the host")
	_, err = h.Run("ip", "no such thing")
	require.ErrorContains(t, err, "no such thing")

	oops := errors.New("oops")
	require.ErrorIs(t, h.Do(func() error { return oops }), oops)
	assert.PanicsWithValue(t, "oops", func() { _ = h.Do(func() error { panic("oops") }) })
	require.NoError(t, h.Do(func() error { return nil }), "the host survived that")

	sleeper := exec.Command("sleep", "1000")
	require.NoError(t, h.Start(sleeper))
	n.Close()
	require.Error(t, sleeper.Wait(), "it was killed")
	require.ErrorIs(t, h.Do(func() error { return nil }), errEnded)
	n.Close()
}

// devices lists the network devices of the test itself, without those that tests of other processes have there meanwhile.
func devices(t *testing.T) (names []string) {
	all, err := net.Interfaces()
	require.NoError(t, err)
	for _, d := range all {
		if !strings.HasPrefix(d.Name, hereDevice) || d.Name == fmt.Sprint(hereDevice, os.Getpid()) {
			names = append(names, d.Name)
		}
	}
	return names
}

// TestNothingIsLeft ends a test by a panic, as a failing one may.
func TestNothingIsLeft(t *testing.T) {
	Need(t)
	before := devices(t)
	var h *Host
	t.Run("panics", func(t *testing.T) {
		defer func() { assert.NotNil(t, recover()) }()
		n := New(t, Options{Here: true})
		h = n.Hosts[1]
		assert.Contains(t, devices(t), n.Hosts[0].Device)
		panic("here")
	})
	require.ErrorIs(t, h.Do(func() error { return nil }), errEnded)
	// The kernel removes devices later.
	require.Eventually(t, func() bool { return assert.ObjectsAreEqual(before, devices(t)) }, wallclock.Patience, 10*time.Millisecond)
}

func TestCableAndMTU(t *testing.T) {
	n := New(t, Options{Join: Router})
	a, b := socket(t, n.Hosts[0], n.Hosts[0].Addr), socket(t, n.Hosts[1], n.Hosts[1].Addr)
	raw, err := a.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		require.NoError(t, unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_DO))
	}))
	send := func(bytes int) error {
		_, err := a.WriteToUDPAddrPort(make([]byte, bytes), addrOf(b))
		return err
	}
	require.NoError(t, send(1472))
	require.ErrorIs(t, send(1473), unix.EMSGSIZE)
	require.NoError(t, n.Hosts[1].SetPortMTU(1400))
	// The router reports it for the first packet that is too large.
	require.Eventually(t, func() bool { return errors.Is(send(1372+1), unix.EMSGSIZE) }, wallclock.Patience, time.Millisecond)
	require.NoError(t, send(1372))
	require.NoError(t, n.Hosts[0].SetMTU(1300))
	require.ErrorIs(t, send(1273), unix.EMSGSIZE)

	require.NoError(t, n.Hosts[0].SetUp(false))
	require.Error(t, send(10), "no cable")
	require.NoError(t, n.Hosts[0].SetUp(true))
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{Hosts: 3}, {Hosts: -1}, {Hosts: 1000, Join: Switch}, {Join: Router, Here: true}} {
		_, err := Open(o)
		require.ErrorContains(t, err, "no hosts of this kind")
	}
	err := error(&CannotError{"why", os.ErrPermission})
	require.ErrorIs(t, err, os.ErrPermission)
	require.ErrorContains(t, err, "netns: why")
}

// TestHereAgain: the device in the test's own namespace is gone when Close returns, though the
// kernel removes a namespace and its devices later.
func TestHereAgain(t *testing.T) {
	before := devices(t)
	for range 10 {
		n := New(t, Options{Here: true})
		n.Close()
		require.Equal(t, before, devices(t))
	}
}
