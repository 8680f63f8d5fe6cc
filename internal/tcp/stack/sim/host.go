package simstack

import (
	"net/netip"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/tcp/stack"
)

// firstPort is the first port that a host assigns by itself.
const firstPort = 32768

// A Host is one machine: it has an address, ports and any number of stacks, each
// of which stands for a process.
type Host struct {
	n         *Network
	addr      netip.Addr
	name      string // the name of its links in the world below
	up        bool
	ports     uint16 // the port that was assigned last
	stacks    []*Stack
	listeners []*Listener
	streams   []*Stream // streams that may still change
}

// Ending says how a host crashes.
type Ending uint8

const (
	// Killed: the machine stays, its processes end. The kernel resets their
	// connections and refuses new ones.
	Killed Ending = iota
	// Vanished: the machine falls silent until Open is called again. It then has
	// forgotten its connections.
	Vanished
)

// Addr is the host's address.
func (h *Host) Addr() netip.Addr { return h.addr }

// Up reports whether the machine is there.
func (h *Host) Up() bool { return h.up }

// Open starts a stack; it revives a host that had vanished.
func (h *Host) Open() stack.Stack {
	h.up = true
	s := &Stack{host: h}
	h.stacks = append(h.stacks, s)
	return s
}

// Crash ends every stack of the host without closing its streams. Later calls on
// them and their streams fail.
func (h *Host) Crash(how Ending) {
	h.n.trace("crash %s, %d", h.name, how)
	h.up = how == Killed
	for _, s := range h.stacks {
		s.end(errCrashed)
	}
	h.stacks, h.listeners = nil, nil
	for _, s := range slices.Clone(h.streams) {
		peer := s.peer
		switch {
		case how == Killed:
			s.abort(errCrashed)
		default:
			s.silence(errCrashed)
			if peer != nil {
				peer.watch()
			}
		}
	}
}

// claim finds a port without a listener.
func (h *Host) claim() uint16 {
	for {
		h.ports = max(h.ports+1, firstPort)
		if h.find(netip.AddrPortFrom(h.addr, h.ports)) == nil {
			return h.ports
		}
	}
}

// find is the listener for a connect to an address of this host.
func (h *Host) find(at netip.AddrPort) *Listener {
	for _, l := range h.listeners {
		if l.at.Port() == at.Port() && overlap(l.at.Addr(), at.Addr()) {
			return l
		}
	}
	return nil
}

// overlap reports whether two addresses of one host can mean the same one.
func overlap(a, b netip.Addr) bool { return a == b || a.IsUnspecified() || b.IsUnspecified() }

// has reports whether an address is one of this host's.
func (h *Host) has(a netip.Addr) bool { return a == h.addr || a.IsLoopback() || a.IsUnspecified() }

// forget removes a stream that will not change any more.
func (h *Host) forget(s *Stream) {
	if i := slices.Index(h.streams, s); i >= 0 {
		h.streams = slices.Delete(h.streams, i, i+1)
	}
}
