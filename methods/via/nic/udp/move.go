package udp

import (
	"net/netip"

	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/wire"
)

// turnBackAfter is how many time-outs of a lane in a row make it try another address
// where its other side was.
const turnBackAfter = 2

// mayComeFrom tells whether a packet's source is worth opening it for. With keys any
// is: an address is changed on the way by relays and address translation, and may
// change while the connection lives. Without, only the machine must be the same.
func (c *conn) mayComeFrom(lane uint8, from netip.AddrPort) bool {
	return c.remote[lane] == from || c.dev.guard.Mode() != wire.ModeInsecure || c.remote[lane].Addr() == from.Addr()
}

// cameFrom takes the source of the newest authentic packet of a lane.
func (c *conn) cameFrom(lane uint8, from netip.AddrPort) {
	c.present[lane] = true
	was := c.remote[lane]
	if was == from {
		return
	}
	c.moveTo(lane, from)
	// A machine that has another address has it for both lanes, of which one may have
	// nothing to say.
	other := 1 - lane
	if at := c.remote[other]; at.Addr() == was.Addr() && at.Addr() != from.Addr() {
		c.moveTo(other, netip.AddrPortFrom(from.Addr(), at.Port()))
	}
}

// showData says a word on the data lane, if this side asked for the connection: its
// addresses may be translated on the way, and then the other side does not know where
// that lane is before it has heard from it, and does not reach it after long silence.
func (c *conn) showData() {
	if c.initiator != nil {
		c.emit(wire.LaneData, 0, nil, false)
	}
}

// moveTo notes where a lane is now.
func (c *conn) moveTo(lane uint8, from netip.AddrPort) {
	if c.remote[lane] == from {
		return
	}
	if from != c.home[lane] {
		c.away[lane] = from
	}
	c.redirect(lane, from)
	c.dev.stats.Moved++
}

// seek turns back after a time-out, unless the other side was heard where it is thought
// to be: what is sent again must go there first. Otherwise two sides that repeat in
// step, one of which moved, would never meet.
func (c *conn) seek(lane uint8) {
	if c.present[lane] {
		c.present[lane] = false
		return
	}
	c.turnBack(lane)
}

// turnBack tries the address of the handshake, and the present one the next time. No
// key protects addresses: whoever repeats a packet from another one, so quickly that it
// comes before the genuine one, moves the lane there. The true other side moves it
// back as soon as it says something, but it may have nothing to say.
func (c *conn) turnBack(lane uint8) {
	to := c.home[lane]
	if c.remote[lane] == to {
		to = c.away[lane]
	}
	if to.IsValid() {
		c.redirect(lane, to)
	}
}

func (c *conn) redirect(lane uint8, to netip.AddrPort) {
	c.forgetPlace(lane)
	c.remote[lane] = to
	c.notePlace(lane)
}
