package via

import (
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/inbox"
	"github.com/viaduct-hpc/viaduct/methods/via/flow"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
	"github.com/viaduct-hpc/viaduct/peer"
)

// remote is the method's record of one remote endpoint, connected or not.
type remote struct {
	// What every message touches comes first. vi to assembly belong to the
	// link in use and start anew with each.
	open        bool  // READY: messages may be sent
	connected   bool  // READY was reached with the link in use
	broken      bool  // in method.broken: the link is about to be given up
	causeWait   uint8 // Polls in which a broken link may still tell why
	self        bool  // the endpoint itself
	refusing    bool  // dropped, forgotten or closing: no new operations
	heard       bool  // something arrived since the machine was told
	otherUser   bool  // user is neither this process's nor root
	oneBytes    int   // largest message that goes as one packet, in bytes
	packetBytes int   // largest payload of one packet, in bytes
	eagerBytes  int   // largest message without RTS, in bytes
	vi          *vipl.VI
	credits     flow.Credits
	sendSeq     uint32 // of the latest packet sent
	recvSeq     uint32 // of the latest packet received
	theirID     matchbits.PeerID
	myID        matchbits.PeerID
	link        *link
	assembly    assembly

	inbox   inbox.Peer
	sends   queue.List[queued, *queued]   // waiting to be sent, in post order
	control queue.FIFO[packet, *packet]   // control packets waiting for a credit or room
	movers  []*opState                    // moves in DATA packets, waiting for a credit
	ops     queue.List[opState, *opState] // everything not completed but what is in the inbox

	count     traffic
	pastLinks *bmi.LinkStats // of those that are out of use; nil: they counted nothing

	fsm   peer.Machine
	cause error // the NIC's error of the latest failure
	// failed is how the latest connection, or attempt, ended; nil while there is
	// one, and before the first.
	failed error
	name   string                         // the address, with scheme
	user   atomic.Pointer[bmi.User]       // runs the peer; nil if this side connected, or the provider does not know
	source atomic.Pointer[netip.AddrPort] // of the latest connection; nil in the same cases

	id         peer.ID // of the record in method.remotes, whatever its links are called
	generation uint32
	dropped    bool  // by DropAddr
	gone       bool  // out of the tables
	stalled    bool  // in method.stalled
	timedAt    int32 // place in method.timed plus one; 0: not there
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
	r.self = host == m.nic.LocalAddr()
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
	if n, ok := m.nic.Device().(nic.Namer); ok {
		var err error
		if host, err = n.CanonicalAddr(host); err != nil {
			return bmi.Addr{}, fmt.Errorf("%w: %q: %w", bmi.ErrBadAddress, address, err)
		}
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
	m.unwatch(r)
	m.past.Add(&r.count.Traffic)
}

// errorf makes the error of an operation with the peer.
func (r *remote) errorf(kind error, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", kind, r.name, fmt.Sprintf(format, args...))
}

// overLimit reports whether so many messages of the peer wait that its credits are
// withheld.
func (r *remote) overLimit() bool {
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
