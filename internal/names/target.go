// Package names reads addresses of the form HOST:PORT, and looks names of hosts up
// without making anybody wait. The methods over sockets share it; what they put
// around HOST:PORT, and what they do with several addresses of one name, is theirs.
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

// A Target is where HOST:PORT leads.
type Target struct {
	Host string     // as written, in lower case, without brackets
	IP   netip.Addr // of Host, if that is an address; else invalid
	Port uint16
}

func (t Target) String() string { return net.JoinHostPort(t.Host, strconv.Itoa(int(t.Port))) }

// hostBytesMax bounds a host's name.
const hostBytesMax = 253

// ErrForm: the text is no HOST:PORT at all.
var ErrForm = errors.New("want HOST:PORT (an IPv6 address in brackets)")

// Parse reads HOST:PORT. An empty HOST means this machine, or all its addresses when
// listening, and port 0 any port, which makes sense only there.
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

// checkHost refuses what can be no host name, before anybody is asked about it.
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

// Known is where a target is, if nobody needs to be asked: an address, or this
// machine. Nil: look it up.
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

// Host is the network that one customer has at least, which stands for one host where strangers are told apart: of IPv4 the address
// itself, of IPv6 the first 64 bits.
func Host(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // no error: the length is one of its own
	return p
}
