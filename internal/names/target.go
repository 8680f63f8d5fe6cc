// Package names parses addresses of the form HOST:PORT, and looks up host names without blocking the caller. The methods over
// sockets share it. The scheme of an address, and the use of several addresses of one name, belong to the methods.
package names

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// A Target is a parsed HOST:PORT.
type Target struct {
	Host string     // as written, in lower case, without brackets
	IP   netip.Addr // of Host, if that is an IP address; else invalid
	Port uint16
}

func (t Target) String() string { return net.JoinHostPort(t.Host, strconv.Itoa(int(t.Port))) }

// hostBytesMax bounds a host's name.
const hostBytesMax = 253

// ErrForm: the text does not have the form HOST:PORT.
var ErrForm = errors.New("want HOST:PORT (an IPv6 address in brackets)")

// Parse reads HOST:PORT. An empty HOST means this machine, or when listening all its addresses. Port 0 means any port, which
// makes sense only for listening.
func Parse(text string) (Target, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return Target{}, ErrForm
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return Target{}, fmt.Errorf("port %q is no number from 1 to 65535", port)
	}
	t := Target{Host: strings.ToLower(host), Port: uint16(n)}
	if ip, err := netip.ParseAddr(host); err == nil {
		t.IP = ip.Unmap()
		t.Host = t.IP.String()
	} else if err := checkHost(host); err != nil {
		return Target{}, err
	}
	return t, nil
}

// checkHost rejects names that cannot be a host's, before they are looked up.
func checkHost(host string) error {
	if len(host) > hostBytesMax {
		return fmt.Errorf("host name of %d bytes, at most %d", len(host), hostBytesMax)
	}
	for _, c := range []byte(host) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.', c == '_':
		default:
			return fmt.Errorf("%q cannot stand in a host name", c)
		}
	}
	return nil
}

// Known are the addresses of a target that needs no lookup: an IP address, or this machine. Nil: look it up.
func (t Target) Known() []netip.AddrPort {
	switch {
	case t.IP.IsValid():
		return []netip.AddrPort{netip.AddrPortFrom(t.IP, t.Port)}
	case t.Host == "" || t.Host == "localhost":
		return []netip.AddrPort{netip.AddrPortFrom(loopback4, t.Port), netip.AddrPortFrom(netip.IPv6Loopback(), t.Port)}
	}
	return nil
}

var loopback4 = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Find looks up the addresses of a target's host. It blocks.
func Find(ctx context.Context, t Target) ([]netip.AddrPort, error) {
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", t.Host)
	if err != nil {
		return nil, err
	}
	if len(ips) == 0 {
		return nil, fmt.Errorf("no address of %s is known", t.Host)
	}
	addrs := make([]netip.AddrPort, len(ips))
	for i, ip := range ips {
		addrs[i] = netip.AddrPortFrom(ip.Unmap(), t.Port)
	}
	return addrs, nil
}

// Host is the smallest network that a customer gets, which stands for one host when the connections of strangers are counted:
// for IPv4 the address itself, for IPv6 the first 64 bits.
func Host(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // no error: the length is valid
	return p
}
