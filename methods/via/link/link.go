package link

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/flow"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

// discriminator is the one of BMI endpoints, so that other consumers can share a
// name with them.
const discriminator = "bmi"

// ErrResource: this side lacks something that another link needs.
var ErrResource = errors.New("link: out of links")

// A Link is the connection with one peer. It is closed at first, and can be opened
// again whenever it is. The zero value needs Init.
type Link struct {
	// What every packet touches comes first.
	open      bool  // READY, and nothing has failed since: packets of all kinds may be sent
	connected bool  // READY was reached
	broken    bool  // in Links.broken: about to be closed
	heard     bool  // something has arrived since Heard was asked
	waits     bool  // the consumer wants to know of credits that come back
	stalled   bool  // in Links.stalled
	causeWait uint8 // Polls in which a broken link may still learn why it broke
	reads     bool  // both sides may read memory
	writes    bool  // both sides may write memory
	sendSeq   uint32
	recvSeq   uint32
	theirID   matchbits.PeerID
	myID      matchbits.PeerID
	credits   flow.Credits
	channel   *channel                    // nil while closed
	control   queue.FIFO[Packet, *Packet] // waiting for a credit or room
	owner     any                         // the consumer's

	cause       error // why the link broke, or was not made
	creditsSent uint64
	packetBytes int32
	id          peer.Link
	theirMTU    uint32
	theirFlags  wire.ConnFlags
}

// Init prepares a link for its first use. The owner is what Owner returns, and what the
// log calls the peer.
func (l *Link) Init(owner any) { l.owner = owner }

// Connect begins to open a link to the NIC of that name. Up or Failed follows if it
// returns nil. After an error the link may be half open: the consumer closes it.
func (ls *Links) Connect(l *Link, id peer.Link, host string, ask *wire.LinkReq, timeout time.Duration) error {
	err := ls.begin(l, id)
	if err == nil {
		err = l.channel.vi.ConnectStart(
			vipl.Address{Host: host, Discriminator: discriminator},
			vipl.ConnectOptions{Private: ask.Append(nil), Timeout: timeout},
		)
	}
	l.cause = err
	return err
}

// Accept opens a link by accepting a request, which it answers in any case; nil is one
// that was withdrawn. Otherwise it is like Connect.
func (ls *Links) Accept(l *Link, id peer.Link, q *Request) error {
	l.cause = ls.accept(l, id, q)
	return l.cause
}

func (ls *Links) accept(l *Link, id peer.Link, q *Request) error {
	if q == nil {
		return nic.ErrNotConnected
	}
	err := ls.begin(l, id)
	if err == nil {
		l.channel.accepted = true
		err = q.req.Accept(l.channel.vi)
	}
	if err != nil {
		q.Refuse(peer.ReasonBusy) // unless Accept has answered it
	}
	return err
}

// begin gives the link a VI with receives, and starts anew with sequence numbers and
// credits. Until Opened, the peer has as many credits as every side has at least.
func (ls *Links) begin(l *Link, id peer.Link) error {
	if l.channel != nil {
		panic("link: opened twice")
	}
	l.id = id
	c, err := ls.newChannel(l)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrResource, err)
	}
	l.channel = c
	l.sendSeq, l.recvSeq = 0, 0
	l.theirID, l.myID = 0, matchbits.PeerID(c.id)
	l.packetBytes = wire.MTUMin - wire.HeaderLen
	l.credits.Reset(wire.CreditsMin, c.credits)
	return nil
}

// Learn notes what the peer said of itself in the handshake: the size of its packets,
// in bytes, and what it can do.
func (l *Link) Learn(mtu uint32, flags wire.ConnFlags) { l.theirMTU, l.theirFlags = mtu, flags }

// Opened ends the handshake. The peer knows this connection as id, and has posted
// receives for credits packets.
func (l *Link) Opened(id peer.ID, credits int) {
	l.theirID = matchbits.PeerID(id)
	l.packetBytes = int32(min(l.channel.links.caps.MTUBytes, int(l.theirMTU)) - wire.HeaderLen)
	l.credits.Extend(credits)
	both := l.theirFlags & l.Flags()
	l.reads, l.writes = both&wire.ConnRDMARead != 0, both&wire.ConnRDMAWrite != 0
	l.connected = true
	l.open = !l.broken
	l.sendWaiting()
}

// Shut keeps the link from sending anything more but the packets that end it.
func (l *Link) Shut() { l.open = false }

// Close ends the connection. The NIC gives back its descriptors later. connected
// reports whether the link had been Opened.
func (l *Link) Close() (connected bool) {
	c := l.channel
	if c == nil {
		return false
	}
	connected = l.connected
	l.connected, l.open, l.broken, l.waits = false, false, false, false
	l.channel = nil
	for l.control.Head() != nil {
		c.links.Give(l.control.Pop()) // it cannot be sent any more
	}
	c.close()
	return connected
}

// Owner is the owner of Init.
func (l *Link) Owner() any { return l.owner }

// InUse reports whether the link is open, or about to be.
func (l *Link) InUse() bool { return l.channel != nil }

// Open reports whether packets of all kinds may be sent.
func (l *Link) Open() bool { return l.open }

// ID is the number that the link was opened with.
func (l *Link) ID() peer.Link { return l.id }

// MyID is the id by which the peer marks what it sends.
func (l *Link) MyID() peer.ID { return peer.ID(l.myID) }

// Posted is how many receives were posted for the peer.
func (l *Link) Posted() int { return l.channel.credits }

// PacketBytes is the largest body of one packet, in bytes.
func (l *Link) PacketBytes() int { return int(l.packetBytes) }

// Flags is what this side can do over the link.
func (l *Link) Flags() (flags wire.ConnFlags) {
	caps := &l.channel.links.caps
	if !(caps.RDMARead || caps.RDMAWrite) || !nic.RDMAUsable(l.channel.vi.Port()) {
		return 0
	}
	if caps.RDMARead {
		flags |= wire.ConnRDMARead
	}
	if caps.RDMAWrite {
		flags |= wire.ConnRDMAWrite
	}
	return flags
}

// Reads reports whether both sides may read memory of the other.
func (l *Link) Reads() bool { return l.reads }

// Writes reports whether both sides may write memory of the other.
func (l *Link) Writes() bool { return l.writes }

// Heard reports whether anything has arrived since the last call.
func (l *Link) Heard() bool {
	heard := l.heard
	l.heard = false
	return heard
}

// Credits are those of the connection.
func (l *Link) Credits() flow.Credits { return l.credits }

// TakeCause returns why the link broke, or was not made, once; nil if it is not known.
func (l *Link) TakeCause() error {
	err := l.cause
	l.cause = nil
	return err
}

// CreditsSent is how many CREDIT packets were sent, over this connection and earlier ones.
func (l *Link) CreditsSent() uint64 { return l.creditsSent }

// Stats are the counts of the present connection.
func (l *Link) Stats() nic.LinkStats {
	if l.channel == nil {
		return nic.LinkStats{}
	}
	return l.channel.vi.LinkStats()
}

// Source is the network address of a peer that connected to us; not valid if the
// provider knows none.
func (l *Link) Source() netip.AddrPort {
	if l.channel == nil || !l.channel.accepted {
		return netip.AddrPort{}
	}
	return l.channel.vi.SourceAddr()
}

// AuthenticatedName is the name that the peer has proved; "" if it has proved none.
func (l *Link) AuthenticatedName() string {
	if l.channel == nil {
		return ""
	}
	return l.channel.vi.AuthenticatedName()
}
