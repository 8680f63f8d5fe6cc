package link

import (
	"errors"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/vipl"
	"github.com/viaduct-hpc/viaduct/peer"
)

// discriminator is the one of BMI endpoints, so that other consumers can share a
// name with them.
const discriminator = "bmi"

// ErrResource: this side lacks something that another link needs.
var ErrResource = errors.New("link: out of links")

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

// Learn notes what the peer said of itself in the handshake: the size of its packets, and
// what it can do.
func (l *Link) Learn(theirs *wire.Terms) { l.theirMTU, l.theirFlags = theirs.MTU, theirs.Flags }

// Opened ends the handshake. The peer knows this connection as id, and has posted
// receives for credits packets.
func (l *Link) Opened(id peer.ID, credits int) {
	ours := l.Terms()
	l.theirID = matchbits.PeerID(id)
	l.packetBytes = int32(min(ours.MTU, l.theirMTU) - wire.HeaderLen)
	l.credits.Extend(credits)
	both := l.theirFlags & ours.Flags
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
