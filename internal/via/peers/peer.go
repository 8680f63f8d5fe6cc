package peers

import (
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/netstats"
	"github.com/viaduct-hpc/viaduct/internal/timers"
	"github.com/viaduct-hpc/viaduct/internal/via/link"
	"github.com/viaduct-hpc/viaduct/peer"
)

// Config is what New needs to know.
type Config struct {
	Scheme  string // of the addresses
	Wake    func() // asks for a Poll
	Clock   func() time.Duration
	Log     *slog.Logger
	Seed    uint64 // of the pauses between attempts
	Machine peer.Config
	Errors  *bmi.ErrorCounts
	// Report is called with the address of the peer when a connection begins or ends. It may be
	// nil.
	Report func(kind bmi.EventKind, address string)
}

// A User has operations with peers.
type User interface {
	// NewPeer makes the record of a peer, by Add.
	NewPeer(host string, passive bool) (*Peer, error)
	// Opened is called when a connection is READY: waiting messages may be sent.
	Opened(p *Peer)
	// Ended is called when a connection, or an attempt to make one, has ended. All operations with
	// the peer must end with err.
	Ended(p *Peer, reason peer.Reason, err error)
	// Recovered is called when DISCONNECT is over: postponed receives may be posted.
	Recovered(p *Peer)
	// Waits reports whether operations with a peer, or messages of it, wait. A peer that
	// cannot be reached is forgotten if none do.
	Waits(p *Peer) (operations, messages bool)
	// Forgotten is called when messages of the peer are of no use any more.
	Forgotten(p *Peer)
}

// Peers are all peers of an endpoint. They belong to one goroutine at a time.
type Peers struct {
	Config
	links *link.Links
	user  User

	timers  timers.Wheel[Peer, *Peer]
	actions []action // of the steps in progress
	stepped []peer.Action

	ids         *peer.IDs[*Peer]
	newest      peer.ID
	byHost      map[string]*Peer
	requests    map[peer.Request]*link.Request // that wait for an answer
	lastRequest peer.Request
	closing     bool
	past        bmi.Traffic // of peers forgotten
}

// action is what the machine of a peer asks for.
type action struct {
	p *Peer
	peer.Action
}

// A Peer is one remote endpoint, connected or not. It is a part of its user's record.
type Peer struct {
	// What every packet touches comes first.
	Link     link.Link
	refusing bool // dropped, forgotten or closing: no new operations
	Traffic  bmi.Traffic

	self      bool // the endpoint itself
	otherUser bool // user is neither this process's nor root
	dropped   bool // by DropAddr
	gone      bool // out of the tables
	timer     timers.Timer[Peer]
	pastLinks *netstats.Link // of links that are out of use; nil: they counted nothing

	machine peer.Machine
	since   time.Duration // when the state of machine began; 0: it is the first
	// failed is how the latest connection, or attempt, ended; nil while there is
	// one, and before the first.
	failed error
	name   string                         // the address, with scheme
	user   atomic.Pointer[bmi.User]       // runs the peer; nil if this side connected, or the provider does not know
	source atomic.Pointer[netip.AddrPort] // of the latest connection; nil in the same cases

	id         peer.ID // the record's place in Peers.ids; links have ids of their own
	generation uint32
}

// base is the Peer of a record that embeds it.
func (p *Peer) base() *Peer { return p }

// of is the Peer of a user's record.
func of(record any) *Peer { return record.(interface{ base() *Peer }).base() }

// String is the address (bmi.Peer).
func (p *Peer) String() string { return p.name }

// Timer is the peer's place in Peers.timers.
func (p *Peer) Timer() *timers.Timer[Peer] { return &p.timer }

// ID is that of the record.
func (p *Peer) ID() peer.ID { return p.id }

// Self reports whether the peer is the endpoint itself.
func (p *Peer) Self() bool { return p.self }

// OtherUser reports whether the peer is run by a user that is neither this process's nor root.
func (p *Peer) OtherUser() bool { return p.otherUser }

// Dropped reports whether the address was dropped.
func (p *Peer) Dropped() bool { return p.dropped }

// Ready reports whether the machine is in READY.
func (p *Peer) Ready() bool { return p.machine.Ready() }

// EagerBytes is the largest message that the peer of a READY connection takes without RTS.
func (p *Peer) EagerBytes() int { return p.machine.RemoteEagerBytes() }

// MayRecv reports whether a receive can be posted now.
func (p *Peer) MayRecv() bool { return !p.refusing && p.machine.RecvPolicy() == peer.PolicyNow }

// Acquire notes an operation that the connection must not end before. Release undoes it.
func (p *Peer) Acquire() { p.machine.Acquire() }

// Errorf makes the error of an operation with the peer.
func (p *Peer) Errorf(kind error, format string, args ...any) error {
	return bmi.PeerError(kind, p.name, fmt.Errorf(format, args...))
}

// host is the address in the provider's terms, without the scheme.
func (p *Peer) host() string {
	_, host, _ := strings.Cut(p.name, "://")
	return host
}

// errorNoAddress is the error of an operation with a peer that cannot be reached.
func (p *Peer) errorNoAddress() error {
	return p.Errorf(bmi.ErrUnreachable, "the peer has no address of its own and its connection ended")
}

// count returns the traffic with the peer, including what its link counts.
func (p *Peer) count() bmi.Traffic {
	t := p.Traffic
	t.CreditsSent = p.Link.CreditsSent()
	return t
}

// linkStats is the sum of the statistics of all links with the peer.
func (p *Peer) linkStats() (sum netstats.Link) {
	if p.pastLinks != nil {
		sum = *p.pastLinks
	}
	now := p.Link.Stats()
	sum.Add(&now)
	return sum
}
