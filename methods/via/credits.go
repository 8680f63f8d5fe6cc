package via

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

// credits is one connection's flow control, both directions. A credit is one
// receive posted at the other side; every packet spends one.
//
// A receive that is posted again after its packet was handled is owed to the
// peer until some packet carries it back: any packet takes up to 15 along in
// its credit bits, and when too many are owed on a one-way stream a CREDIT
// packet takes them all. CreditReserve credits are kept for that packet, and
// ControlReserve more for the packets that end large messages, so that neither
// waits behind messages that nobody takes.
type credits struct {
	available int // packets that we may send; 0 ≤ available ≤ granted
	granted   int // receives that the peer posted for us in all
	owed      int // receives posted again and not told; 0 ≤ owed ≤ posted
	posted    int // receives that we posted for the peer in all
}

// reset starts a connection: the peer has posted granted receives, we posted.
func (c *credits) reset(granted, posted int) {
	*c = credits{available: granted, granted: granted, posted: posted}
}

// extend ends the handshake, in which a side has CreditsMin credits: from now
// on it has what the peer says that it posted.
func (c *credits) extend(granted int) {
	c.available += granted - c.granted
	c.granted = granted
}

// mayMessage tells whether a packet may be sent whose credit the peer may
// withhold for a while: EXPECTED, UNEXPECTED, RTS.
func (c *credits) mayMessage() bool { return c.available > CreditReserve+ControlReserve }

// mayControl tells whether a packet may be sent that the peer always takes.
func (c *credits) mayControl() bool { return c.available > CreditReserve }

// mayCredit tells whether a CREDIT packet may be sent.
func (c *credits) mayCredit() bool { return c.available > 0 }

// mustReturn tells whether so much is owed that a CREDIT packet is due if
// nothing else goes to the peer: half of what the peer can have while some
// credits are withheld from it.
func (c *credits) mustReturn(withheld int) bool { return c.owed >= max(1, (c.posted-withheld)/2) }

// spend takes one credit for a packet. Spending what is not there is our bug.
func (c *credits) spend() {
	if c.available == 0 {
		panic("via: spent a credit that was not there")
	}
	c.available--
}

// takeSome returns what the credit bits of a packet can carry of what is owed.
func (c *credits) takeSome() uint8 {
	n := min(c.owed, matchbits.CreditsMax)
	c.owed -= n
	return uint8(n)
}

// takeAll returns all that is owed.
func (c *credits) takeAll() int {
	n := c.owed
	c.owed = 0
	return n
}

// owe notes that a receive was posted again. Owing more than was ever posted
// is our bug.
func (c *credits) owe() {
	c.owed++
	if c.owed > c.posted {
		panic("via: owes more credits than it posted receives")
	}
}

// give takes back credits that the peer returned. It reports false if the peer
// returned more than it ever had, which breaks the protocol.
func (c *credits) give(n int) bool {
	c.available += n
	return c.available <= c.granted
}

func (c *credits) String() string {
	return fmt.Sprintf("%d/%d owed %d/%d", c.available, c.granted, c.owed, c.posted)
}
