package via

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

// credits is one connection's flow control, both directions. A credit is one
// receive posted at the other side; every packet spends one.
//
// A receive that was posted again after its packet was handled is owed to the
// peer until a packet returns it. Each packet returns up to 15 in its credit
// bits. If many are owed and traffic is one-way, a CREDIT packet returns all of
// them. CreditReserve credits are kept for that packet, and ControlReserve more
// for the packets that end large messages, so that neither has to wait behind
// messages without a receive.
type credits struct {
	available int // packets that we may send; 0 ≤ available ≤ granted
	granted   int // receives that the peer posted for us in all
	owed      int // receives posted again and not returned yet; 0 ≤ owed ≤ posted
	posted    int // receives that we posted for the peer in all
}

// reset starts a connection: the peer has posted granted receives, we posted.
func (c *credits) reset(granted, posted int) {
	*c = credits{available: granted, granted: granted, posted: posted}
}

// extend ends the handshake, during which a side has CreditsMin credits. From
// now on it has as many as the peer says that it posted receives.
func (c *credits) extend(granted int) {
	c.available += granted - c.granted
	c.granted = granted
}

// mayMessage reports whether there is a credit for a packet whose credit the
// peer may withhold for a while: EXPECTED, UNEXPECTED, RTS.
func (c *credits) mayMessage() bool { return c.available > CreditReserve+ControlReserve }

// mayControl reports whether there is a credit for a packet whose credit the
// peer always returns.
func (c *credits) mayControl() bool { return c.available > CreditReserve }

// mayCredit reports whether there is a credit for a CREDIT packet.
func (c *credits) mayCredit() bool { return c.available > 0 }

// mustReturn reports whether a CREDIT packet is due if nothing else goes to the
// peer: half of the credits that are not withheld are owed.
func (c *credits) mustReturn(withheld int) bool { return c.owed >= max(1, (c.posted-withheld)/2) }

// spend takes one credit for a packet. It panics if there is none.
func (c *credits) spend() {
	if c.available == 0 {
		panic("via: spent a credit that was not there")
	}
	c.available--
}

// takeSome takes as many owed credits as the credit bits of a packet can carry.
func (c *credits) takeSome() uint8 {
	n := min(c.owed, matchbits.CreditsMax)
	c.owed -= n
	return uint8(n)
}

// takeAll takes all owed credits.
func (c *credits) takeAll() int {
	n := c.owed
	c.owed = 0
	return n
}

// owe notes that a receive was posted again. It panics if more are owed than were
// ever posted.
func (c *credits) owe() {
	c.owed++
	if c.owed > c.posted {
		panic("via: owes more credits than it posted receives")
	}
}

// give adds credits that the peer returned. It reports false if the peer
// returned more than this side ever had, which breaks the protocol.
func (c *credits) give(n int) bool {
	c.available += n
	return c.available <= c.granted
}

func (c *credits) String() string {
	return fmt.Sprintf("%d/%d owed %d/%d", c.available, c.granted, c.owed, c.posted)
}
