package simdgram

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// firstPort is the first port that a host assigns by itself.
const firstPort = 32768

// A Host is one machine: it has addresses, ports, a card, and any number of
// devices, each of which stands for a process.
type Host struct {
	n        *Network
	name     string // the name of its links in the world below
	addrs    []netip.Addr
	ports    uint16 // the port that was assigned last
	devices  []*Device
	sockets  []*Socket
	up, down *sim.Bottleneck
}

// Host is the machine at an address, made on first use with all of addrs.
func (n *Network) Host(addrs ...netip.Addr) *Host {
	n.enter()
	defer n.leave()
	if h := n.at[addrs[0].Unmap()]; h != nil {
		return h
	}
	h := &Host{n: n, name: addrs[0].String(), ports: firstPort,
		up: n.sim.NewBottleneck(n.opts.Up), down: n.sim.NewBottleneck(n.opts.Down)}
	for _, a := range addrs {
		a = a.Unmap()
		if n.at[a] != nil || a.IsLoopback() || a.IsUnspecified() {
			panic(fmt.Sprintf("sim: a host cannot have the address %s", a))
		}
		h.addrs = append(h.addrs, a)
		n.at[a] = h
	}
	return h
}

// Addr is the host's first address.
func (h *Host) Addr() netip.Addr { return h.addrs[0] }

// Open makes a device. Devices of the Real mode are dgram.Sleepers, others are not.
func (h *Host) Open() dgram.Device {
	h.n.enter()
	defer h.n.leave()
	d := &Device{host: h}
	h.devices = append(h.devices, d)
	if h.n.opts.Mode == Real {
		d.signal = make(chan struct{}, 1)
		return &sleepingDevice{d}
	}
	return d
}

// Crash ends the host's devices without notice: their sockets vanish, with all
// unread datagrams, and the addresses become free. Calls on them return that they
// are closed. Datagrams under way continue. Open revives the host.
func (h *Host) Crash() {
	h.n.enter()
	defer h.n.leave()
	h.n.trace("%s crashes", h.name)
	for _, d := range slices.Clone(h.devices) {
		d.close()
	}
}

// SetUp and SetDown change the speed of the host's card.
func (h *Host) SetUp(r sim.Rate) {
	h.n.enter()
	defer h.n.leave()
	h.up.SetRate(r)
}

// SetDown is SetUp for arriving datagrams.
func (h *Host) SetDown(r sim.Rate) {
	h.n.enter()
	defer h.n.leave()
	h.down.SetRate(r)
}

// Down is the bottleneck before the host, so that tests of the Stepped mode can
// inspect its queue.
func (h *Host) Down() *sim.Bottleneck { return h.down }

// claim finds a free port at an address.
func (h *Host) claim(at netip.Addr) (port uint16, ok bool) {
	for range 1<<16 - firstPort {
		h.ports = max(h.ports+1, firstPort)
		if !h.taken(netip.AddrPortFrom(at, h.ports)) {
			return h.ports, true
		}
	}
	return 0, false
}

// taken reports whether a socket at an address would take another socket's
// datagrams.
func (h *Host) taken(at netip.AddrPort) bool {
	return slices.ContainsFunc(h.sockets, func(s *Socket) bool {
		a, b := s.at.Addr(), at.Addr()
		return s.at.Port() == at.Port() && (hears(a, b) || hears(b, a))
	})
}

// hears reports whether a socket at an address receives datagrams to another one.
func hears(at, to netip.Addr) bool {
	switch {
	case at == to:
		return true
	case at == netip.IPv4Unspecified():
		return to.Is4()
	default:
		return at == netip.IPv6Unspecified()
	}
}

// find is the socket that receives a datagram to an address of this host.
func (h *Host) find(to netip.AddrPort) *Socket {
	for _, s := range h.sockets {
		if s.at.Port() == to.Port() && hears(s.at.Addr(), to.Addr()) {
			return s
		}
	}
	return nil
}

// has reports whether a socket of this host can be at an address.
func (h *Host) has(a netip.Addr) bool {
	return a.IsLoopback() || a.IsUnspecified() || slices.Contains(h.addrs, a)
}

// source is the source address of a datagram from a socket at one address to
// another address; ok is false if the host cannot reach it.
func (h *Host) source(at, to netip.Addr) (from netip.Addr, ok bool) {
	own := to.IsLoopback() || slices.Contains(h.addrs, to)
	switch {
	case !at.IsUnspecified():
		return at, at.Is4() == to.Is4() && (own || !at.IsLoopback())
	case at.Is4() && !to.Is4():
		return netip.Addr{}, false
	case own:
		return to, true
	}
	for _, a := range h.addrs {
		if a.Is4() == to.Is4() {
			return a, true
		}
	}
	return netip.Addr{}, false
}
