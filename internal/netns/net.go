//go:build linux

package netns

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

// Join is the way in which hosts are joined.
type Join uint8

const (
	// Wire joins two hosts, device to device.
	Wire Join = iota
	// Switch joins any number of hosts of one subnet.
	Switch
	// Router joins any number of hosts, each in its own subnet.
	Router
)

// Options describe the hosts.
type Options struct {
	// Hosts is the number of hosts; 0 means two.
	Hosts int
	// Join is the way in which they are joined.
	Join Join
	// MTU is the largest IP packet on all devices, in bytes; 0 means 1500.
	MTU int
	// Here makes the first host the test's own namespace, in which the process opens
	// everything else. Only for a Wire.
	Here bool
}

// A Net is a number of hosts that can reach each other.
type Net struct {
	Hosts []*Host

	middle *Host // the switch or router
	opts   Options
}

// New makes hosts, or skips the test if that is not allowed or not possible (see
// Skip). They are removed when the test ends.
func New(t testing.TB, opts Options) *Net {
	t.Helper()
	n, err := Open(opts)
	if why := (*CannotError)(nil); errors.As(err, &why) {
		need.Unless(t, need.Namespaces, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

// Need skips a test, or fails it, where hosts cannot be made.
func Need(t testing.TB) {
	t.Helper()
	need.Unless(t, need.Namespaces, try())
}

// try makes a host once, and returns why it cannot.
var try = sync.OnceValue(func() error {
	n, err := Open(Options{})
	if err == nil {
		n.Close()
	}
	return err
})

// A CannotError says why hosts cannot be made on this machine.
type CannotError struct {
	Why string
	Err error
}

func (e *CannotError) Error() string { return fmt.Sprintf("netns: %s: %v", e.Why, e.Err) }

// Unwrap is the reason.
func (e *CannotError) Unwrap() error { return e.Err }

// Open is New without a test. The error is a CannotError if hosts are not allowed or
// not possible.
func Open(opts Options) (*Net, error) {
	if opts.Hosts == 0 {
		opts.Hosts = 2
	}
	if opts.MTU == 0 {
		opts.MTU = 1500
	}
	if opts.Hosts < 1 || opts.Hosts > 200 || opts.Join == Wire && opts.Hosts != 2 || opts.Here && opts.Join != Wire {
		return nil, fmt.Errorf("netns: no hosts of this kind: %+v", opts)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return nil, &CannotError{"the program ip is missing (package iproute2)", err}
	}
	n := &Net{opts: opts}
	err := n.make()
	for _, h := range n.Hosts {
		if err == nil {
			err = h.settle()
		}
	}
	if err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// settleMax is how long the kernel may take until a host is configured.
const settleMax = time.Minute

// settle waits until the host's device has a carrier, and until IPv6 packets reach
// the host itself: at first they get lost.
func (h *Host) settle() error {
	end := time.Now().Add(settleMax)
	for running := false; !running; {
		err := h.Do(func() error {
			d, err := net.InterfaceByName(h.Device)
			running = err == nil && d.Flags&net.FlagRunning != 0
			return err
		})
		if err == nil && time.Now().After(end) {
			err = fmt.Errorf("netns: %s has no carrier", h.Device)
		}
		if err != nil {
			return err
		}
	}
	if !h.Addr6.IsValid() {
		return nil
	}
	c, err := h.ListenUDP(netip.AddrPortFrom(h.Addr6, 0))
	if err != nil {
		return err
	}
	defer c.Close()
	for heard := false; !heard; {
		if time.Now().After(end) {
			return fmt.Errorf("netns: %s does not reach itself", h.Addr6)
		}
		var b [1]byte
		// Errors count as lost packets, too.
		_, _ = c.WriteToUDPAddrPort(b[:], c.LocalAddr().(*net.UDPAddr).AddrPort())
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		_, _, err := c.ReadFromUDPAddrPort(b[:])
		heard = err == nil
	}
	return nil
}

// Close ends the hosts and everything on them. A second Close does nothing.
func (n *Net) Close() {
	for _, h := range n.Hosts {
		h.close()
	}
	if n.middle != nil {
		n.middle.close()
	}
	n.Hosts, n.middle = nil, nil
}

func (n *Net) make() error {
	for i := range n.opts.Hosts {
		h, err := newHost(n.opts.Here && i == 0)
		if err != nil {
			return err
		}
		n.Hosts = append(n.Hosts, h)
	}
	if n.opts.Join == Wire {
		return n.wire()
	}
	var err error
	if n.middle, err = newHost(false); err != nil {
		return err
	}
	if n.opts.Join == Switch {
		if err := n.middle.ip("link add br0 type bridge", "link set br0 up"); err != nil {
			return &CannotError{"no bridge", err}
		}
	}
	for i, h := range n.Hosts {
		if err := n.plug(i, h); err != nil {
			return err
		}
	}
	return nil
}

// hereDevice and the number of the process name its device in the namespace where it began.
const hereDevice = "vd"

func newHost(here bool) (*Host, error) {
	if here {
		return &Host{Device: fmt.Sprint(hereDevice, os.Getpid())}, nil
	}
	k, err := newKeeper()
	if err != nil {
		return nil, &CannotError{"not allowed (needs root, or CAP_SYS_ADMIN and CAP_NET_ADMIN)", err}
	}
	h := &Host{Device: "eth0", keeper: k}
	_ = h.Do(func() error {
		// No other host has our addresses, and duplicate address detection takes
		// seconds. Without IPv6 this fails, and is not needed.
		return os.WriteFile("/proc/sys/net/ipv6/conf/default/accept_dad", []byte("0"), 0)
	})
	return h, h.ip("link set lo up")
}

// join makes a wire between two hosts.
func (n *Net) join(a *Host, atA string, b *Host, atB string) error {
	if a.keeper == nil {
		a, atA, b, atB = b, atB, a, atA
	}
	other := unix.Getpid()
	if b.keeper != nil {
		other = b.keeper.tid
	}
	err := a.ip(fmt.Sprintf("link add %s mtu %d type veth peer name %s mtu %d netns %d", atA, n.opts.MTU, atB, n.opts.MTU, other))
	if err != nil {
		return &CannotError{"no network devices", err}
	}
	return errors.Join(a.ip("link set "+atA+" up"), b.ip("link set "+atB+" up"))
}

// wire joins the only two hosts. Their addresses are from the range for benchmarks
// (RFC 2544), and depend on the process id, because one of the hosts may be the
// test's own namespace.
func (n *Net) wire() error {
	a, b := n.Hosts[0], n.Hosts[1]
	if err := n.join(a, a.Device, b, b.Device); err != nil {
		return err
	}
	a.port, a.peer, b.port, b.peer = b, b.Device, a, a.Device
	id := os.Getpid() % (1 << 14)
	for i, h := range n.Hosts {
		four := netip.AddrFrom4([4]byte{198, byte(18 + id>>13), byte(id >> 5), byte(id<<2&124 + i + 1)})
		six := netip.AddrFrom16([16]byte{0xfd, 0x76, 0x64, 5: byte(id >> 8), 6: byte(id), 15: byte(i + 1)})
		if err := h.address(h.Device, four, 30, six, &h.Addr, &h.Addr6); err != nil {
			return err
		}
	}
	return nil
}

// plug joins a host to the switch or router.
func (n *Net) plug(i int, h *Host) error {
	h.port, h.peer = n.middle, fmt.Sprintf("port%d", i)
	if err := n.join(n.middle, h.peer, h, h.Device); err != nil {
		return err
	}
	subnet, host := byte(0), byte(i+1)
	if n.opts.Join == Router {
		subnet, host = byte(i+1), 1
	}
	four := func(host byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 76, subnet, host}) }
	six := func(host byte) netip.Addr {
		return netip.AddrFrom16([16]byte{0xfd, 0x76, 0x64, 7: subnet, 15: host})
	}
	if err := h.address(h.Device, four(host), 24, six(host), &h.Addr, &h.Addr6); err != nil {
		return err
	}
	if n.opts.Join == Switch {
		return n.middle.ip("link set " + h.peer + " master br0")
	}
	var gate4, gate6 netip.Addr
	err := n.middle.address(h.peer, four(254), 24, six(254), &gate4, &gate6)
	if err == nil {
		err = n.middle.forward()
	}
	if err == nil {
		err = h.ip("route add default via " + gate4.String())
	}
	if err == nil && h.Addr6.IsValid() && gate6.IsValid() {
		err = h.ip("-6 route add default via " + gate6.String())
	}
	return err
}

// address gives a device its addresses. There may be no IPv6.
func (h *Host) address(device string, four netip.Addr, bits int, six netip.Addr, at4, at6 *netip.Addr) error {
	err := h.ip(fmt.Sprintf("addr add %s/%d dev %s", four, bits, device))
	if err != nil {
		return err
	}
	*at4 = four
	if h.ip(fmt.Sprintf("-6 addr add %s/64 dev %s nodad", six, device)) == nil {
		*at6 = six
	}
	return nil
}

// forward makes a host a router.
func (h *Host) forward() error {
	return h.Do(func() error {
		// The contents of /proc/sys/net depend on the thread that opens it.
		if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0); err != nil {
			return &CannotError{"no forwarding", err}
		}
		// Without IPv6 this fails, and is not needed.
		_ = os.WriteFile("/proc/sys/net/ipv6/conf/all/forwarding", []byte("1"), 0)
		return nil
	})
}
