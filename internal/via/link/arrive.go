package link

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/via/wire"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

var errOverdrawn = errors.New("sent a packet without a credit for it")

// received handles a receive that the NIC gave back.
func (c *channel) received(d *nic.Descriptor) {
	if c.closing || d.Status == nic.StatusFlushed {
		return
	}
	l := c.link
	if d.Status != nic.StatusSuccess {
		c.breach(fmt.Errorf("receive ended with status %d", d.Status))
		return
	}
	data, shared := d.Data, d.Shared
	if data == nil && d.Length > 0 {
		data, shared = d.Segments[0].Data[:d.Length], false
	}
	withhold, ok := c.arrived(data, shared)
	if !ok {
		return
	}
	if err := c.post(d); err != nil {
		l.Retry(err)
		return
	}
	if c.unposted == d {
		l.stall() // its credit is owed once it is posted
		return
	}
	if l.credits.Owe(withhold) {
		l.returnCredits()
	}
}

// arrived handles one packet. withhold reports whether its credit is withheld for now,
// and ok whether the channel is still in use: the packet may have ended it, or a
// handler. shared: the peer may still write to data. So the header is read here, once.
func (c *channel) arrived(data []byte, shared bool) (withhold, ok bool) {
	l := c.link
	l.heard = true
	h, body, err := wire.ParseHeader(data)
	switch {
	case l.recvSeq == l.credits.Last():
		err = errOverdrawn
	case err != nil:
	case h.Seq != l.recvSeq+1 || h.Bits.PeerID() != l.myID && !anonymous(h.Bits) || h.Bits.Reserved() != 0:
		err = fmt.Errorf("header %v: want sequence number %d and peer id %d", h, l.recvSeq+1, l.myID)
	default:
		l.recvSeq++
		if n := h.Bits.Credits(); n > 0 {
			err = l.Credited(int(n))
		}
		if err == nil {
			withhold, err = c.links.consumer.Arrived(l, h, body, shared)
		}
	}
	if err != nil {
		c.breach(err)
	}
	return withhold, !c.closing
}

// breach ends the link because the peer broke the protocol.
func (c *channel) breach(err error) {
	if !c.closing {
		c.link.cause = err
		c.links.consumer.Breached(c.link, err)
	}
}

// anonymous reports whether a packet may come from a peer that does not know its
// id yet: a packet of the handshake, or a CANCEL during it.
func anonymous(b matchbits.Bits) bool {
	return b.PeerID() == 0 && (b.Type().Connects() || b.Type() == matchbits.TypeCancel)
}

// Credited adds credits that the peer returned, and resumes what waits for them. It fails if the
// peer returns more credits than were spent.
func (l *Link) Credited(n int) error {
	if !l.credits.Give(n) {
		return l.overpaid(n)
	}
	if l.waits || l.control.Head() != nil {
		l.stall()
	}
	return nil
}

func (l *Link) overpaid(n int) error {
	return fmt.Errorf("returned %d credits, and had only %d", n, l.credits.Granted()-l.credits.Available())
}
