package udp

import (
	"net/netip"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// turnBackAfter is how many time-outs of a lane in a row make it try another address of
// its other side.
const turnBackAfter = 2

// mayComeFrom reports whether a packet with this source should be opened. With keys any
// source is allowed: relays and address translation change an address, even during a
// connection. Without keys, the machine must be the same.
func (c *conn) mayComeFrom(lane uint8, from netip.AddrPort) bool {
	return c.remote[lane] == from || c.dev.guard.Mode() != wire.ModeInsecure || c.remote[lane].Addr() == from.Addr()
}

// cameFrom handles the source of the newest authentic packet of a lane.
func (c *conn) cameFrom(lane uint8, from netip.AddrPort) {
	c.present[lane] = true
	was := c.remote[lane]
	if was == from {
		return
	}
	c.moveTo(lane, from)
	// If the machine has a new address, both lanes have it. The other lane may have nothing to send
	// that would show it.
	other := 1 - lane
	if at := c.remote[other]; at.Addr() == was.Addr() && at.Addr() != from.Addr() {
		c.moveTo(other, netip.AddrPortFrom(from.Addr(), at.Port()))
	}
}

// showData sends an empty packet on the data lane, if this side asked for the
// connection. If its address is translated, the other side knows the address of that
// lane only after a packet from it, and can no longer reach it after long silence.
func (c *conn) showData() {
	if c.initiator != nil {
		c.emit(wire.LaneData, false)
	}
}

// moveTo records the new address of a lane.
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

// seek turns back after a time-out, unless a packet was received from the presumed
// address: retransmissions must go there first. Otherwise two sides that repeat in
// step, one of which moved, would never meet.
func (c *conn) seek(lane uint8) {
	if c.present[lane] {
		c.present[lane] = false
		return
	}
	c.turnBack(lane)
}

// turnBack tries the address of the handshake, and the present one the next time. Keys
// do not protect addresses: an attacker that replays a packet from another address
// faster than the genuine one arrives moves the lane to that address. The genuine other
// side moves it back with its next packet, but it may have nothing to send.
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
