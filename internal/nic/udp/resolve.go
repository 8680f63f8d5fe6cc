package udp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/fault"
	"github.com/viaduct-hpc/viaduct/internal/names"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/dgram"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// parse reads an address.
func parse(addr string) (names.Target, error) {
	t, err := names.Parse(addr)
	if err != nil {
		return t, fmt.Errorf("%w: %w", nic.ErrBadAddress, err)
	}
	if t.IP.Is6() && t.IP.IsLinkLocalUnicast() && t.IP.Zone() == "" {
		return t, fmt.Errorf("%w: %s is there on every network, say on which: [%s%%INTERFACE]", nic.ErrBadAddress, t.Host, t.Host)
	}
	return t, nil
}

// parseRemote reads an address to connect to.
func parseRemote(addr string) (names.Target, error) {
	t, err := parse(addr)
	switch {
	case err != nil:
	case t.Port == 0:
		err = fmt.Errorf("%w: port 0 is only for listening", nic.ErrBadAddress)
	case t.IP.IsUnspecified():
		err = fmt.Errorf("%w: %s is only for listening, connect to one of the machine's addresses", nic.ErrBadAddress, t.Host)
	}
	return t, err
}

// CanonicalAddr implements nic.Namer.
func (d *Device) CanonicalAddr(addr string) (string, error) {
	t, err := parseRemote(addr)
	if err != nil {
		return "", err
	}
	return t.String(), nil
}

// resolve begins to look up the addresses for a connection.
func (c *conn) resolve(t names.Target) {
	if known := t.Known(); known != nil {
		for i, at := range known {
			known[i] = numbered(at)
		}
		c.addrs = known
		c.ask()
		return
	}
	c.againAt = c.until
	c.set()
	c.dev.lookups.Ask(c, t)
}

// numbered returns an address in the form that packets have: with the number of its
// network interface instead of the name.
func numbered(at netip.AddrPort) netip.AddrPort {
	zone := at.Addr().Zone()
	if zone == "" {
		return at
	}
	i, err := net.InterfaceByName(zone)
	if err != nil {
		return at // it is a number, or there is no such interface
	}
	return netip.AddrPortFrom(at.Addr().WithZone(strconv.Itoa(i.Index)), at.Port())
}

// found continues the connections whose names were looked up.
func (d *Device) found() {
	for _, a := range d.lookups.Take() {
		c := a.For
		switch {
		case c.state != connDialing: // given up meanwhile
		case a.Err != nil:
			c.fail(fault.Mark(a.Err, nic.ErrUnreachable))
		default:
			c.addrs, c.since = a.Addrs, d.now
			c.ask()
		}
	}
}

// aim moves on to the next address of the other side's name, as long as none has
// answered.
func (c *conn) aim() {
	if !c.answered {
		c.remote[wire.LanePriority] = c.addrs[0]
		c.addrs = append(c.addrs[1:len(c.addrs):len(c.addrs)], c.addrs[0])
	}
}

// knows reports whether handshake packets may come from an address. The connection is
// made to the first address that answers.
func (c *conn) knows(from netip.AddrPort) bool {
	if c.remote[wire.LanePriority] == from {
		return true
	}
	if c.state == connDialing && !c.answered {
		for _, at := range c.addrs {
			if at == from {
				c.remote[wire.LanePriority] = from
				return true
			}
		}
	}
	return false
}

// places are the addresses at which a device may open its sockets; the first that
// works is used.
func places(t names.Target) ([]netip.AddrPort, error) {
	switch {
	case t.IP.IsValid():
		return t.Known(), nil
	case t.Host == "":
		return []netip.AddrPort{ // the second is for machines without IPv6
			netip.AddrPortFrom(netip.IPv6Unspecified(), t.Port),
			netip.AddrPortFrom(netip.IPv4Unspecified(), t.Port),
		}, nil
	}
	if known := t.Known(); known != nil {
		return known, nil
	}
	return names.Find(context.Background(), t)
}

// openSockets opens one socket for each lane. The data lane's socket has any port,
// unless one is configured.
func (d *Device) openSockets(listen string) error {
	t := names.Target{}
	if listen != "" {
		var err error
		if t, err = parse(listen); err != nil {
			return err
		}
	}
	all, err := places(t)
	if err != nil {
		return fmt.Errorf("%w: %w", nic.ErrBadAddress, err)
	}
	var s dgram.Socket
	for _, at := range all {
		if s, err = d.datagrams.Open(at); err == nil || !errors.Is(err, dgram.ErrNotHere) {
			break
		}
	}
	if err != nil {
		return d.cannotListen(listen, err)
	}
	at := s.Addr()
	if h, ok := s.(dgram.Homed); ok && d.listens && at.Addr().IsUnspecified() {
		// A machine may have several addresses, and an answer must come from the
		// address that was asked. If the kernel does not tell it, the default address
		// must do.
		_ = h.TellTo()
	}
	d.outs[wire.LanePriority].init(s)
	if s, err = d.datagrams.Open(netip.AddrPortFrom(at.Addr(), d.opts.DataPort)); err != nil {
		if d.opts.DataPort != 0 {
			return fmt.Errorf("udp: the port of the data lane (%s): %w", DataPortEnv, err)
		}
		return d.cannotListen(listen, err)
	}
	d.outs[wire.LaneData].init(s)
	switch {
	case listen == "":
		d.name = "~" + at.String()
	case t.IP.IsValid() || t.Host == "":
		d.name = at.String()
	default:
		d.name = net.JoinHostPort(t.Host, strconv.Itoa(int(at.Port())))
	}
	return nil
}

// place distinguishes this machine from others if the device listens at all addresses: such devices
// have the same name everywhere. It consists of the machine's name and addresses.
func (d *Device) place() string {
	if !d.outs[wire.LanePriority].socket.Addr().Addr().IsUnspecified() {
		return ""
	}
	host, _ := os.Hostname()
	is := []string{host}
	addrs, _ := net.InterfaceAddrs() // usually one of the two exists
	for _, a := range addrs {
		is = append(is, a.String())
	}
	slices.Sort(is[1:])
	return strings.Join(is, " ")
}

func (d *Device) cannotListen(listen string, err error) error {
	switch {
	case errors.Is(err, dgram.ErrInUse):
		return fmt.Errorf("udp: listen at %s: %w", listen, nic.ErrNameTaken)
	case errors.Is(err, dgram.ErrNotHere) && listen != "":
		return fmt.Errorf("%w: %w", nic.ErrBadAddress, err)
	}
	return fmt.Errorf("udp: %w", err)
}
