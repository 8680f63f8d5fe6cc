package link

import (
	"net/netip"

	"github.com/viaduct-hpc/viaduct/bmi/netstats"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/internal/via/flow"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
	"github.com/viaduct-hpc/viaduct/peer"
)

// completionsPerPoll bounds the work of one Poll.
const completionsPerPoll = 32

// Links are the NIC of an endpoint and all connections over it. They belong to one
// goroutine at a time.
type Links struct {
	// What every packet touches comes first.
	packets
	cq       *vipl.CQ
	consumer Consumer
	done     [completionsPerPoll]vipl.Completion
	events   [4]vipl.ConnEvent
	small    [nic.InlineMax]byte // a small packet that Take took, until it is handled

	broken  []*Link             // about to be closed
	stalled queue.Rounds[*Link] // waiting for room in the NIC, or just given credits

	*vipl.NIC
	depth       int // receives of each link
	reliability nic.Reliability
	ids         *peer.IDs[*channel]
	vis         int // VIs that exist, including those that are being closed
	underWay    int // packets that the NIC has not finished
	oldTags     []vipl.ProtectionTag
}

// A Link is the connection with one peer. It is closed at first, and can be opened
// again whenever it is. The zero value needs Init.
type Link struct {
	// What every packet touches comes first.
	open      bool  // READY, and nothing has failed since: packets of all kinds may be sent
	connected bool  // READY was reached
	broken    bool  // in Links.broken: about to be closed
	heard     bool  // something has arrived since Heard was asked
	waits     bool  // the consumer wants a Resume when credits come back
	stalled   bool  // in Links.stalled
	causeWait uint8 // Polls left in which a broken link may still learn why it broke
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

// A channel is a VI and what belongs to it, until its last descriptor is back. A link
// uses at most one; others are being closed.
type channel struct {
	links    *Links
	link     *Link
	closing  bool // the link does not use it any more
	accepted bool // the peer connected to us
	vi       *vipl.VI
	direct   nic.DirectPort // of vi; nil: every message needs a descriptor
	tag      vipl.ProtectionTag
	ownTag   bool

	id         peer.ID // the id by which the peer marks its packets
	generation uint32

	recvs    []nic.Descriptor
	credits  int             // receives posted at first: the peer's credits
	unposted *nic.Descriptor // receives that the NIC had no room for, linked by Next; their credits are owed once they are posted
	memory   *vipl.Memory    // the memory of recvs, if the NIC does not lend buffers
}

// A Consumer handles what happens to the links of an endpoint. Poll calls it, except
// for PollSoon, which any call may need. It may use and close any link.
type Consumer interface {
	// Arrived handles a packet. shared: the peer may still write to body. withhold
	// reports that its credit must not be returned before Release. An error is a breach
	// of the protocol: Breached follows.
	Arrived(l *Link, h wire.Header, body []byte, shared bool) (withhold bool, err error)
	// Finished is called when the NIC has finished with a packet that used memory of op (Packet.Lend).
	// err is nil, a *FileError, or why the link breaks.
	Finished(op any, bytes int, err error)
	// Resume is called when a link may take more: the NIC has room, or a credit came back.
	Resume(l *Link)
	// Requested is called for a connect request, to be answered by Accept or Refuse. err is not nil if
	// the request cannot be read.
	Requested(q *Request, err error)
	// Up is called when the NICs have connected.
	Up(l *Link)
	// Failed is called when an attempt to connect has ended.
	Failed(l *Link, err error)
	// Broke is called when a link has broken. It must close the link.
	Broke(l *Link, err error)
	// Breached is called when the peer broke the protocol. It must close the link.
	Breached(l *Link, err error)
	// PollSoon asks for a Poll even if nothing arrives.
	PollSoon()
}

// A Request is the connect request of another endpoint. It is answered once.
type Request struct {
	// Host is the NIC's name for the requester.
	Host string
	// Ask is what the requester says of itself.
	Ask wire.LinkReq
	// User runs the requester; nil if the provider does not know. OtherUser reports that it is neither
	// this process's user nor root.
	User      *nic.User
	OtherUser bool

	req *vipl.ConnRequest
}

// Refuse rejects the request. An error of the NIC would mean that the requester is gone.
func (q *Request) Refuse(reason peer.Reason) { _ = q.req.Reject([]byte{byte(reason)}) }

// Init prepares a link for its first use. The owner is what Owner returns, and what the
// log calls the peer.
func (l *Link) Init(owner any) { l.owner = owner }

// Owner is the owner of Init.
func (l *Link) Owner() any { return l.owner }

// InUse reports whether the link is open, or about to be.
func (l *Link) InUse() bool { return l.channel != nil }

// Open reports whether packets of all kinds may be sent.
func (l *Link) Open() bool { return l.open }

// ID is the number that the link was opened with.
func (l *Link) ID() peer.Link { return l.id }

// PacketBytes is the largest body of one packet, in bytes.
func (l *Link) PacketBytes() int { return int(l.packetBytes) }

// Terms returns what the handshake tells the peer about this side. The consumer sets Eager.
func (l *Link) Terms() wire.Terms {
	caps := &l.channel.links.caps
	t := wire.Terms{PeerID: uint32(l.myID), Credits: uint32(l.channel.credits), MTU: uint32(caps.MTUBytes)}
	if (caps.RDMARead || caps.RDMAWrite) && nic.RDMAUsable(l.channel.vi.Port()) {
		if caps.RDMARead {
			t.Flags |= wire.ConnRDMARead
		}
		if caps.RDMAWrite {
			t.Flags |= wire.ConnRDMAWrite
		}
	}
	return t
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

// port returns the provider's port of the present connection, or nil.
func (l *Link) port() nic.Port {
	if l.channel == nil {
		return nil
	}
	return l.channel.vi.Port()
}

// Stats are the counts of the present connection.
func (l *Link) Stats() netstats.Link { return nic.LinkStatsOf(l.port()) }

// Window returns how many bytes may be under way at once, and how many are; zeros if the provider has no
// such limit.
func (l *Link) Window() (most, used int) { return nic.WindowOf(l.port()) }

// Source is the network address of a peer that connected to us; not valid if the
// provider knows none.
func (l *Link) Source() netip.AddrPort {
	if s, ok := l.port().(nic.Sourcer); ok && l.channel.accepted {
		return s.SourceAddr()
	}
	return netip.AddrPort{}
}

// AuthenticatedName is the name that the peer has proved; "" if it has proved none.
func (l *Link) AuthenticatedName() string {
	if a, ok := l.port().(nic.Authenticator); ok {
		return a.AuthenticatedName()
	}
	return ""
}
