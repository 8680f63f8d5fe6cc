package ops

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/via/link"
	"github.com/viaduct-hpc/viaduct/internal/via/peers"
	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/peer"
)

// credits is the number of receives that are posted for the peer.
const credits = 64

// A rig is operations over a NIC without connections, for tests of single steps. It is the Host,
// and knows one peer.
type rig struct {
	*Ops
	peer *Peer
	nic  *idleNIC
	tag  uint32 // of arriving packets and of posted operations
}

func newRig(t testing.TB) *rig {
	g := &rig{nic: &idleNIC{}}
	links, err := link.Open(g.nic, link.Config{Credits: credits})
	require.NoError(t, err)
	g.Ops = New(links, Config{
		Config: peers.Config{
			Scheme: "via+idle", Clock: func() time.Duration { return 0 }, Log: slog.New(slog.DiscardHandler),
			Machine: peer.DefaultConfig(),
		},
		Host: g, EagerBytes: EagerBytesMax, SplitBytes: SplitBytesMin, Secret: 1,
	})
	p, err := g.NewPeer("peer", false)
	require.NoError(t, err)
	g.peer = of(p)
	return g
}

// connect gives the peer a link in use.
func (g *rig) connect(t testing.TB) {
	r := g.peer
	require.NoError(t, g.links.Connect(&r.Link, 1, "peer", &wire.LinkReq{}, 0))
	g.nic.event(nic.EventConnected, nil)
	g.Poll()
	r.Link.Learn(&wire.Terms{MTU: wire.MTUMin})
	r.Link.Opened(1, credits)
}

// arrive delivers the peer's next packet, which returns the credits of packets sent to the peer.
// The result is the number of credits that the peer gets back.
func (g *rig) arrive(t testing.TB, kind matchbits.Type, body []byte) (credits int) {
	n := g.nic
	n.seq++
	owed := min(n.sent, matchbits.CreditsMax)
	n.sent -= owed
	packet := wire.Header{Bits: matchbits.Make(kind, uint8(owed), matchbits.PeerID(g.peer.Link.Terms().PeerID), g.tag), Seq: n.seq}.Append(nil)
	packet = append(packet, body...)
	require.NotEmpty(t, n.posted, "receives")
	d := n.posted[0]
	n.posted = n.posted[1:]
	d.Status, d.Data, d.Length = nic.StatusSuccess, packet, len(packet)
	n.event(nic.EventRecv, d)
	g.Poll()
	credits, n.credits = n.credits, 0
	return credits
}

// post posts an operation, and returns the record of it. The error that it
// completes with goes to ended.
func (g *rig) post(kind bmi.Kind, size int, ended *[]error) *opState {
	op := bmi.NewHostOp(func(_ *bmi.Op, _ int, err error) { *ended = append(*ended, err) })
	op.Kind, op.Peer, op.Tag, op.Bufs, op.Size = kind, g.peer, bmi.Tag(g.tag), [][]byte{make([]byte, size)}, size
	if kind == bmi.KindRecv {
		g.PostRecv(op)
	} else {
		g.PostSend(op)
	}
	s, _ := op.Private.(*opState)
	return s
}

// NewAddr implements bmi.Host.
func (g *rig) NewAddr(p bmi.Peer) bmi.Addr { return bmi.NewHostAddr(p) }

// Arrived implements bmi.Host.
func (g *rig) Arrived(bmi.Addr, bmi.Class, bmi.Tag, []byte) bool { return true }

func (g *rig) ArrivedShared(bmi.Addr, bmi.Class, bmi.Tag, []byte) bool { return true }

// Wake implements bmi.Host.
func (g *rig) Wake() {}

// idleNIC is the provider, the device and the port of a rig: the packets that it sends
// are gone at once, but for their credits.
type idleNIC struct {
	nic.Device
	nic.Port
	cookie  any
	posted  []*nic.Descriptor
	events  []nic.Event
	seq     uint32 // of the peer's last packet
	credits int    // that were returned to the peer
	sent    int    // packets to the peer whose credits it has not returned
}

func (n *idleNIC) event(kind nic.EventKind, d *nic.Descriptor) {
	n.events = append(n.events, nic.Event{Kind: kind, Cookie: n.cookie, Desc: d})
}

func (n *idleNIC) Name() string                                               { return "idle" }
func (n *idleNIC) Open(nic.Config) (nic.Device, error)                        { return n, nil }
func (n *idleNIC) LocalAddr() string                                          { return "here" }
func (n *idleNIC) Close() error                                               { return nil }
func (n *idleNIC) NextDeadline() (time.Duration, bool)                        { return 0, false }
func (n *idleNIC) Connect(addr string, private []byte, _ time.Duration) error { return nil }

func (n *idleNIC) OpenPort(_ nic.PortAttrs, cookie any) (nic.Port, error) {
	n.cookie = cookie
	return n, nil
}

func (n *idleNIC) Poll(out []nic.Event) int {
	k := copy(out, n.events)
	n.events = n.events[k:]
	return k
}

func (n *idleNIC) PostRecv(d *nic.Descriptor) error {
	n.posted = append(n.posted, d)
	return nil
}

func (n *idleNIC) PostSend(d *nic.Descriptor) (done bool, err error) {
	h, body, err := wire.ParseHeader(d.Segments[0].Data)
	if err != nil {
		return false, err
	}
	n.sent++
	n.credits += int(h.Bits.Credits())
	if h.Bits.Type() == matchbits.TypeCredit {
		c, err := wire.ParseCredit(h.Aux, body)
		if err != nil {
			return false, err
		}
		n.credits += c.Credits
	}
	d.Status = nic.StatusSuccess
	return true, nil
}

func (n *idleNIC) Caps() nic.Caps {
	return nic.Caps{
		InlineBytesMax: nic.InlineMax, MTUBytes: 8192, SegmentsMax: 16, RecvDepthMax: 64, SendDepthMax: 64,
		LoansRecv: true, UnregisteredSend: true, Reliability: nic.ReliableDelivery,
	}
}
