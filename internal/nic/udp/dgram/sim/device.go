package simdgram

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
)

// A Device is one process' view of the network.
type Device struct {
	host    *Host
	sockets []*Socket
	closed  bool

	sleep
}

// Name is "simulated network".
func (d *Device) Name() string { return "simulated network" }

// Open opens a socket.
func (d *Device) Open(at netip.AddrPort) (dgram.Socket, error) {
	h := d.host
	h.n.enter()
	defer h.n.leave()
	at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	switch {
	case d.closed:
		return nil, fmt.Errorf("sim: open %s: %w", at, dgram.ErrClosed)
	case !at.Addr().IsValid() || !h.has(at.Addr()):
		return nil, fmt.Errorf("sim: open %s on %s: %w", at, h.name, dgram.ErrNotHere)
	case at.Port() == 0:
		port, ok := h.claim(at.Addr())
		if !ok {
			return nil, fmt.Errorf("sim: open %s: no port is free: %w", at, dgram.ErrExhausted)
		}
		at = netip.AddrPortFrom(at.Addr(), port)
	case h.taken(at):
		return nil, fmt.Errorf("sim: open %s: %w", at, dgram.ErrInUse)
	}
	s := &Socket{d: d, n: h.n, at: at}
	d.sockets = append(d.sockets, s)
	h.sockets = append(h.sockets, s)
	h.n.trace("%s opens", at)
	return s, nil
}

// Close closes all open sockets.
func (d *Device) Close() error {
	d.host.n.enter()
	defer d.host.n.leave()
	d.close()
	return nil
}

func (d *Device) close() {
	if d.closed {
		return
	}
	d.closed = true
	for _, s := range slices.Clone(d.sockets) {
		s.close()
	}
	d.host.devices = slices.DeleteFunc(d.host.devices, func(o *Device) bool { return o == d })
	d.kick()
}

// ready reports whether a socket is ready.
func (d *Device) ready() bool {
	return d.closed || slices.ContainsFunc(d.sockets, func(s *Socket) bool {
		return len(s.inbox) > 0 || s.wants && s.room()
	})
}
