package vipl

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/environ"
)

// A NameService translates between host names and addresses of NICs.
type NameService interface {
	// HostByName returns the provider addresses of a name, best first.
	HostByName(name string) ([]string, error)
	// HostByAddr returns a name for a provider address.
	HostByAddr(addr string) (string, error)
}

// HostsEnv names the environment variable with the path of the default hosts file.
const HostsEnv = "VIADUCT_VIHOSTS"

// DefaultNames is the hosts file that HostsEnv names, if it is set, then DNS.
func DefaultNames() (NameService, error) {
	if path := environ.Getenv(HostsEnv); path != "" {
		return LoadHosts(path, DNS{})
	}
	return DNS{}, nil
}

// NSInit gives the NIC a name service; nil means DefaultNames. It returns
// ErrNameService if that fails.
func (n *NIC) NSInit(ns NameService) (err error) {
	if ns == nil {
		if ns, err = DefaultNames(); err != nil {
			return err
		}
	}
	n.names = ns
	return nil
}

// NSShutdown removes the name service.
func (n *NIC) NSShutdown() { n.names = nil }

// HostByName is the address number index (0: the best) of a name. It returns
// ErrNameService if the name is unknown, has no such address, or NSInit was not
// called.
func (n *NIC) HostByName(name string, index int) (Address, error) {
	if n.names == nil {
		return Address{}, fmt.Errorf("%w: call NSInit first", ErrNameService)
	}
	hosts, err := n.names.HostByName(name)
	switch {
	case err != nil:
		return Address{}, err
	case index < 0 || index >= len(hosts):
		return Address{}, fmt.Errorf("%w: %q has %d addresses, not number %d", ErrNameService, name, len(hosts), index)
	}
	return Address{Host: hosts[index]}, nil
}

// HostByAddr is a name for an address.
func (n *NIC) HostByAddr(addr Address) (string, error) {
	if n.names == nil {
		return "", fmt.Errorf("%w: call NSInit first", ErrNameService)
	}
	return n.names.HostByAddr(addr.Host)
}

// DNSTimeout bounds one look-up through DNS.
const DNSTimeout = 10 * time.Second

// DNS is a name service for providers whose addresses are "ip:port": it resolves
// the host part of "host:port", or a name without a port, through the system's
// resolver.
type DNS struct {
	// Resolver is asked; nil means net.DefaultResolver.
	Resolver *net.Resolver
}

func (d DNS) resolver() *net.Resolver {
	if d.Resolver == nil {
		return net.DefaultResolver
	}
	return d.Resolver
}

// HostByName resolves the host part; the port stays as it is.
func (d DNS) HostByName(name string) ([]string, error) {
	host, port, err := net.SplitHostPort(name)
	if err != nil {
		host, port = name, ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), DNSTimeout)
	defer cancel()
	ips, err := d.resolver().LookupHost(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNameService, err)
	}
	if port != "" {
		for i := range ips {
			ips[i] = net.JoinHostPort(ips[i], port)
		}
	}
	return ips, nil
}

// HostByAddr finds a name for the host part; the port stays as it is.
func (d DNS) HostByAddr(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		host, port = addr, ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), DNSTimeout)
	defer cancel()
	names, err := d.resolver().LookupAddr(ctx, host)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", ErrNameService, err)
	case len(names) == 0:
		return "", fmt.Errorf("%w: %s has no name", ErrNameService, host)
	case port != "":
		return net.JoinHostPort(names[0], port), nil
	}
	return names[0], nil
}
