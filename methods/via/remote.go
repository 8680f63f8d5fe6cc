package via

import (
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/internal/timers"
	"github.com/viaduct-hpc/viaduct/methods/inbox"
	"github.com/viaduct-hpc/viaduct/methods/via/link"
	"github.com/viaduct-hpc/viaduct/peer"
)

// remote is the method's record of one remote endpoint, connected or not.
type remote struct {
	// What every message touches comes first.
	link     link.Link
	oneBytes int32               // largest message that goes as one packet, in bytes
	refusing bool                // dropped, forgotten or closing: no new operations
	sends    queue.List[opState] // waiting to be sent, in post order
	inbox    inbox.Peer
	count    traffic

	self       bool  // the endpoint itself
	otherUser  bool  // user is neither this process's nor root
	dropped    bool  // by DropAddr
	gone       bool  // out of the tables
	eagerBytes int32 // largest message without RTS, in bytes; anew with each link
	timer      timers.Timer[remote]
	assembly   *assembly // an eager message of several packets that is arriving; nil: none

	movers    []*opState          // moves in DATA packets, waiting for a credit
	ops       queue.List[opState] // everything not completed but what is in the inbox
	pastLinks *bmi.LinkStats      // of links that are out of use; nil: they counted nothing

	fsm peer.Machine
	// failed is how the latest connection, or attempt, ended; nil while there is
	// one, and before the first.
	failed error
	name   string                         // the address, with scheme
	user   atomic.Pointer[bmi.User]       // runs the peer; nil if this side connected, or the provider does not know
	source atomic.Pointer[netip.AddrPort] // of the latest connection; nil in the same cases

	id         peer.ID // of the record in method.remotes, whatever its links are called
	generation uint32
}

// String is the address (bmi.Peer).
func (r *remote) String() string { return r.name }

// host is the address in the provider's terms, without the scheme.
func (r *remote) host() string {
	_, host, _ := strings.Cut(r.name, "://")
	return host
}

// newRemote makes the record of an endpoint. It fails if there are more of them
// than the match bits can distinguish.
func (m *method) newRemote(host string, passive bool) (*remote, error) {
	r := &remote{name: m.name + "://" + host}
	id, generation, ok := m.remotes.Take(r)
	if !ok {
		return nil, fmt.Errorf("%w: %d peers are known, drop some", bmi.ErrAgain, m.remotes.Live())
	}
	r.id, r.generation = id, generation
	m.newestID = max(m.newestID, int(id))
	r.fsm.Reset(&m.peerConfig, m.seed^uint64(id)*0x9e3779b97f4a7c15, passive)
	r.link.Init(r)
	r.self = host == m.links.LocalAddr()
	r.inbox.Init(id, m.host.NewAddr(r), &r.count.Traffic)
	m.byHost[host] = r
	return r, nil
}

// Resolve finds or makes the record behind an address.
func (m *method) Resolve(address string) (bmi.Addr, error) {
	scheme, host, ok := strings.Cut(address, "://")
	switch {
	case !ok || scheme != m.name:
		return bmi.Addr{}, fmt.Errorf("%w: %q, want %s://NAME", bmi.ErrBadAddress, address, m.name)
	case host == "":
		return bmi.Addr{}, fmt.Errorf("%w: %q has no name behind %s://", bmi.ErrBadAddress, address, m.name)
	}
	if err := checkHost(host); err != nil {
		return bmi.Addr{}, fmt.Errorf("%w: %q: %w", bmi.ErrBadAddress, address, err)
	}
	host, err := m.links.CanonicalAddr(host)
	if err != nil {
		return bmi.Addr{}, fmt.Errorf("%w: %q: %w", bmi.ErrBadAddress, address, err)
	}
	if r := m.byHost[host]; r != nil {
		return r.inbox.Addr(), nil
	}
	r, err := m.newRemote(host, false)
	if err != nil {
		return bmi.Addr{}, err
	}
	return r.inbox.Addr(), nil
}

// forget takes a record out of the tables: the peer was dropped, or cannot be
// reached any more. Operations with its address fail from now on.
func (m *method) forget(r *remote) {
	if r.gone {
		return
	}
	r.gone, r.refusing = true, true
	m.inbox.DropEarly(&r.inbox)
	m.inbox.DropHeld(&r.inbox)
	if m.byHost[r.host()] == r {
		delete(m.byHost, r.host())
	}
	m.remotes.Give(r.id, r.generation)
	m.timers.Stop(r)
	count := r.traffic()
	m.past.Add(&count)
}

// errorf makes the error of an operation with the peer.
func (r *remote) errorf(kind error, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", kind, r.name, fmt.Sprintf(format, args...))
}

// overLimit reports whether so many messages of the peer wait that its credits are
// withheld.
func (r *remote) overLimit() bool {
	if r.inbox.Early() == 0 {
		return r.inbox.Holds()
	}
	bytes, messages := r.earlyLimits()
	return r.inbox.EarlyBytes() > bytes || r.inbox.Early() > messages || r.inbox.Holds()
}

// checkHost checks a name before the provider sees it.
func checkHost(host string) error {
	if len(host) > hostMax {
		return fmt.Errorf("name is longer than %d bytes", hostMax)
	}
	for _, c := range host {
		if c <= ' ' || c == 0x7f {
			return fmt.Errorf("name has a blank or a control character")
		}
	}
	return nil
}
