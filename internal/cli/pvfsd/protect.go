package pvfsd

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/cli/program"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// A protection is a set of rules for clients, as lists of address patterns.
type protection struct {
	trusted []string // networks of the servers
	squash  []string // where root is squashed
	exempt  []string // exceptions from that: the servers themselves
	unknown []string // hosts of servers without an address here

	portless []string // addresses of hosts without a port
}

// Prefix lengths of networks, if this machine does not know them, in bits.
const (
	networkBits4 = 24
	networkBits6 = 64
)

// networked are the methods whose addresses are HOST:PORT. An address without a port would be taken for a name within the
// machine, where every client is trusted.
var networked = []string{"tcp", "tcps", "via+udp"}

// lookupTime limits the resolution of servers' names.
const lookupTime = 5 * time.Second

// A surveyor finds addresses of hosts, and the networks of this machine.
type surveyor struct {
	lookup func(host string) ([]netip.Addr, error)
	local  []netip.Prefix
}

func newSurveyor() surveyor {
	s := surveyor{lookup: func(host string) ([]netip.Addr, error) {
		ctx, cancel := context.WithTimeout(context.Background(), lookupTime)
		defer cancel()
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	}}
	addrs, _ := net.InterfaceAddrs() // without them the usual prefix lengths apply
	for _, a := range addrs {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			s.local = append(s.local, prefix.Masked())
		}
	}
	return s
}

// protect is the protection of a file system of these servers.
func (s surveyor) protect(servers []config.GenServer) (p protection) {
	for _, server := range servers {
		for address := range strings.SplitSeq(server.Address, ",") {
			scheme, rest, _ := strings.Cut(address, "://")
			host, _, err := net.SplitHostPort(rest)
			if err != nil && slices.Contains(networked, scheme) {
				add(&p.portless, address)
				continue
			}
			if err != nil { // a method inside one machine
				add(&p.trusted, scheme+"://*")
				continue
			}
			add(&p.squash, scheme+"://*")
			addrs := s.resolve(host)
			if len(addrs) == 0 {
				add(&p.unknown, host)
			}
			for _, addr := range addrs {
				network := s.network(addr)
				add(&p.trusted, fmt.Sprintf("%s://%s@%d", scheme, network.Addr(), network.Bits()))
				add(&p.exempt, scheme+"://"+addr.String())
			}
		}
	}
	return p
}

func add(list *[]string, one string) {
	if !slices.Contains(*list, one) {
		*list = append(*list, one)
	}
}

func (s surveyor) resolve(host string) (addrs []netip.Addr) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr.Unmap().WithZone("")}
	}
	found, _ := s.lookup(host) // the caller reports hosts without an address
	for _, addr := range found {
		addrs = append(addrs, addr.Unmap().WithZone(""))
	}
	return addrs
}

// network is the network of an address: one of this machine, or else one with the usual prefix length.
func (s surveyor) network(addr netip.Addr) netip.Prefix {
	for _, n := range s.local {
		if n.Contains(addr) {
			return n
		}
	}
	bits := networkBits6
	if addr.Is4() {
		bits = networkBits4
	}
	network, _ := addr.Prefix(bits) // bits is valid for this family
	return network
}

// apply adds the rules that the user did not give, and describes them.
func (p protection) apply(gen *config.GenOptions) (notes []string, err error) {
	if len(p.portless) > 0 {
		return nil, program.Usagef("%[1]s has no port: give one, such as %[1]s:3334", p.portless[0])
	}
	if len(gen.TrustedNetworks) == 0 {
		if len(p.unknown) > 0 {
			return nil, program.Usagef("%s: no address is known here, so neither is the network that clients may connect from: "+
				"give it with --trusted, as tcp://10.0.0.0@8, or allow all with --insecure", strings.Join(p.unknown, ", "))
		}
		gen.TrustedNetworks = p.trusted
	}
	if slices.Contains(gen.TrustedNetworks, "*") {
		gen.TrustedNetworks = nil
		notes = append(notes, "clients may connect from anywhere")
	} else {
		notes = append(notes, "clients may connect from "+strings.Join(gen.TrustedNetworks, ", "))
	}
	if len(gen.RootSquash) > 0 || len(gen.AllSquash) > 0 || len(p.squash) == 0 {
		return notes, nil
	}
	gen.RootSquash = p.squash
	for _, one := range p.exempt {
		add(&gen.RootSquashExceptions, one)
	}
	except := "everywhere"
	if len(gen.RootSquashExceptions) > 0 {
		except = "except on " + strings.Join(gen.RootSquashExceptions, ", ")
	}
	return append(notes, "root of a client becomes nobody, "+except), nil
}
