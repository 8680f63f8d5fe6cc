package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Network is a pattern of addresses of clients: "tcp://192.168.4.0@24",
// "tcp://10.0.0.*", "via+shm://*", or "*" for all.
type Network struct {
	text   string       // as written
	scheme string       // "tcp", or empty for any
	prefix string       // used if net is not valid: text with which the rest of the address begins
	exact  bool         // the whole host must equal prefix
	net    netip.Prefix // otherwise the addresses
}

// Networks are patterns. An address matches if one of them does.
type Networks []Network

// ParseNetwork reads one pattern.
func ParseNetwork(text string) (Network, error) {
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "", text
	}
	n := Network{text: text, scheme: strings.ToLower(scheme)}
	host, bits, masked := strings.Cut(rest, "@")
	if !masked {
		host, bits, masked = strings.Cut(rest, "/")
	}
	switch addr, err := netip.ParseAddr(strings.Trim(host, "[]")); {
	case masked:
		length, wrong := strconv.Atoi(bits)
		if err != nil || wrong != nil {
			return Network{}, fmt.Errorf("config: %q is no network: want address@bits", text)
		}
		if n.net, err = addr.Prefix(length); err != nil {
			return Network{}, fmt.Errorf("config: %q is no network: %w", text, err)
		}
	case err == nil:
		n.net = netip.PrefixFrom(addr, addr.BitLen())
	case strings.HasSuffix(rest, "*"):
		n.prefix = strings.TrimSuffix(rest, "*")
	default:
		n.prefix, n.exact = rest, true
	}
	if rest == "" || strings.Contains(n.prefix, "*") {
		return Network{}, fmt.Errorf("config: %q is no pattern of addresses", text)
	}
	return n, nil
}

// String is the pattern as written.
func (n Network) String() string { return n.text }

// Match reports whether a client's bmi address, for instance "tcp://192.168.4.7:41234", matches the pattern.
func (n Network) Match(peer string) bool {
	scheme, rest, _ := strings.Cut(peer, "://")
	if n.scheme != "" && !strings.EqualFold(n.scheme, scheme) {
		return false
	}
	if n.net.IsValid() {
		addr, ok := hostAddr(rest)
		return ok && n.net.Contains(addr)
	}
	if n.exact {
		host := rest
		if i := strings.LastIndexByte(rest, ':'); i >= 0 {
			host = rest[:i]
		}
		return rest == n.prefix || host == n.prefix
	}
	return strings.HasPrefix(rest, n.prefix)
}

// Match reports whether one of the patterns matches. Without patterns nothing matches.
func (ns Networks) Match(peer string) bool {
	for _, n := range ns {
		if n.Match(peer) {
			return true
		}
	}
	return false
}

// String is all patterns.
func (ns Networks) String() string {
	var all []string
	for _, n := range ns {
		all = append(all, n.text)
	}
	return strings.Join(all, ", ")
}

// hostAddr is the IP address in "host:port" or "host".
func hostAddr(text string) (netip.Addr, bool) {
	text, _, _ = strings.Cut(text, "/")
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return ap.Addr().Unmap(), true
	}
	addr, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return addr.Unmap(), err == nil
}
