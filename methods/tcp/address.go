package tcp

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/names"
)

// A target is one way to reach a peer: tcp://HOST:PORT.
type target = names.Target

// targetsMax bounds the alternatives in one address.
const targetsMax = 16

// parseAddress reads scheme://HOST:PORT[,scheme://HOST:PORT…].
func parseAddress(scheme, address string) ([]target, error) {
	parts := strings.Split(address, ",")
	if len(parts) > targetsMax {
		return nil, fmt.Errorf("%w: %d alternatives, at most %d", bmi.ErrBadAddress, len(parts), targetsMax)
	}
	targets := make([]target, 0, len(parts))
	for _, part := range parts {
		t, err := parseTarget(scheme, part)
		if err != nil {
			return nil, err
		}
		if t.Port == 0 {
			return nil, fmt.Errorf("%w: %q: port 0 is only for listening", bmi.ErrBadAddress, part)
		}
		targets = append(targets, t)
	}
	return targets, nil
}

// parseTarget reads scheme://HOST:PORT. An empty HOST means this machine, or when
// listening all its addresses.
func parseTarget(scheme, text string) (target, error) {
	rest, ok := strings.CutPrefix(text, scheme+"://")
	if !ok {
		return target{}, fmt.Errorf("%w: %q, want %s://HOST:PORT", bmi.ErrBadAddress, text, scheme)
	}
	t, err := names.Parse(rest)
	if errors.Is(err, names.ErrForm) {
		return target{}, fmt.Errorf("%w: %q, want %s://HOST:PORT (an IPv6 address in brackets)", bmi.ErrBadAddress, text, scheme)
	}
	if err != nil {
		return target{}, fmt.Errorf("%w: %q: %w", bmi.ErrBadAddress, text, err)
	}
	return t, nil
}

// format returns an address in the canonical form by which a peer is known.
func format(scheme string, targets []target) string {
	var b strings.Builder
	for i, t := range targets {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(scheme)
		b.WriteString("://")
		b.WriteString(t.String())
	}
	return b.String()
}

// inRange reports whether one of the targets lies in a range, written as
//
//	HOST[:PORT]      HOST and PORT with the wildcards of path.Match
//	ADDRESS/BITS     a network, optionally followed by : and port
//	ADDRESS@BITS     the same, as OrangeFS writes it
//
// with or without the scheme in front.
func inRange(scheme string, targets []target, pattern string) (bool, error) {
	host, port := splitPattern(strings.TrimPrefix(pattern, scheme+"://"))
	var network netip.Prefix
	if at := strings.IndexAny(host, "/@"); at >= 0 {
		var err error
		if network, err = netip.ParsePrefix(host[:at] + "/" + host[at+1:]); err != nil {
			return false, fmt.Errorf("%w: pattern %q: %w", bmi.ErrInvalid, pattern, err)
		}
	}
	for _, t := range targets {
		inHost, err := path.Match(host, t.Host)
		if network.IsValid() {
			inHost, err = network.Contains(t.IP), nil
		}
		inPort, portErr := path.Match(port, strconv.Itoa(int(t.Port)))
		if err != nil || portErr != nil {
			return false, fmt.Errorf("%w: pattern %q: %w", bmi.ErrInvalid, pattern, path.ErrBadPattern)
		}
		if inHost && inPort {
			return true, nil
		}
	}
	return false, nil
}

// splitPattern splits a pattern into one for hosts and one for ports, "*" by
// default.
func splitPattern(pattern string) (host, port string) {
	if inner, rest, ok := strings.Cut(strings.TrimPrefix(pattern, "["), "]"); ok && strings.HasPrefix(pattern, "[") {
		// [IPv6 address], then a network's bits and a port, both optional.
		bits, port, hasPort := strings.Cut(rest, ":")
		if !hasPort {
			port = "*"
		}
		return inner + bits, port
	}
	if strings.Count(pattern, ":") != 1 {
		return pattern, "*" // no port, or an IPv6 address without one
	}
	host, port, _ = strings.Cut(pattern, ":")
	return host, port
}
