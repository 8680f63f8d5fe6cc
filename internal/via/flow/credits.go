// Package flow is the flow control of one connection, both directions: who may send how much. docs/internals/models/credits.pml is a model of it, and
// docs/internals/protocols/via.md describes it.
//
// Credits always come back. Let A have 4 or fewer, so that its messages wait. The credits that A has spent are at B: in packets that B will
// handle, owed, withheld, or on their way back. If none is on its way and none withheld, B owes at least posted − 4 ≥ posted / 2, because
// posted ≥ 8: a CREDIT is due. B can send it with its last credit, which no other packet takes but CREDIT. If a CREDIT took it, that CREDIT
// carries half of A's receives or more, and A answers by the same argument. CREDIT packets do not keep each other going: the answer to one
// is due only when half of all receives are owed again.
package flow

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

// Both sides must agree on these.
const (
	// CreditReserve is the number of credits that only a CREDIT packet or a
	// farewell may spend, so that credits always come back.
	CreditReserve = 1
	// ControlReserve is the number of further credits that messages may not
	// spend, but CTS, DATA, FIN and KEEP_ALIVE may.
	ControlReserve = 3
)

// Credits are those of one connection, in both directions. A credit is one
// receive posted at the other side; every packet spends one.
//
// A receive that was posted again after its packet was handled is owed to the
// peer until a packet returns it. Each packet returns up to 15 in its credit
// bits. If many are owed and traffic is one-way, a CREDIT packet returns all of
// them. CreditReserve credits are kept for that packet, and ControlReserve more
// for the packets that end large messages, so that neither has to wait behind
// messages without a receive.
//
// If too many messages of the peer wait, the credits of further ones are withheld:
// not returned until there is room again. Those of control packets never are.
//
// The zero value has no credits; Reset starts a connection.
type Credits struct {
	available int32  // packets that we may send; 0 ≤ available ≤ granted
	granted   int32  // receives that the peer posted for us in all
	posted    int32  // receives that we posted for the peer in all
	withheld  int32  // receives posted again that are not to be returned for now
	again     uint32 // how often others were posted again; from 0 to posted − withheld more than returned
	returned  uint32 // credits returned since Reset
}

// Reset starts a connection: the peer has posted granted receives, we posted.
func (c *Credits) Reset(granted, posted int) {
	*c = Credits{available: int32(granted), granted: int32(granted), posted: int32(posted)}
}

// Extend ends the handshake, during which a side has CreditsMin credits. From
// now on it has as many as the peer says that it posted receives.
func (c *Credits) Extend(granted int) {
	c.available += int32(granted) - c.granted
	c.granted = int32(granted)
}

// MayMessage reports whether there is a credit for a packet whose credit the
// peer may withhold for a while: EXPECTED, UNEXPECTED, RTS.
func (c *Credits) MayMessage() bool { return c.available > CreditReserve+ControlReserve }

// MayControl reports whether there is a credit for a packet whose credit the
// peer always returns.
func (c *Credits) MayControl() bool { return c.available > CreditReserve }

// MayCredit reports whether there is a credit for a CREDIT packet.
func (c *Credits) MayCredit() bool { return c.available > 0 }

// Last is the number of the last packet that the peer has a credit for. The NIC cannot
// detect a packet without a credit, because receives are posted again at once. If Last
// were not checked, no limit would apply to a peer that ignores credits.
func (c *Credits) Last() uint32 { return uint32(c.posted) + c.returned }

// owed is how many credits are to be returned.
func (c *Credits) owed() int32 { return int32(c.again - c.returned) }

// Spend takes one credit for a packet, and as many owed credits as its credit bits can
// return. It panics if there is no credit.
func (c *Credits) Spend() (returned uint8) {
	if c.available--; c.available < 0 {
		panic("flow: spent a credit that was not there")
	}
	n := min(c.again-c.returned, matchbits.CreditsMax)
	c.returned += n
	return uint8(n)
}

// Unspend undoes Spend: the packet was not sent.
func (c *Credits) Unspend(returned uint8) {
	c.available++
	c.returned -= uint32(returned)
}

// TakeAll takes all owed credits, for a CREDIT packet.
func (c *Credits) TakeAll() int {
	n := c.owed()
	c.returned = c.again
	return int(n)
}

// PutBack undoes TakeAll: the packet was not sent.
func (c *Credits) PutBack(n int) { c.returned -= uint32(n) }

// Owe notes that a receive was posted again. Its credit is owed to the peer, or withheld for
// now. Owe reports whether a CREDIT packet is due if nothing else goes to the peer: half of
// the credits that are not withheld are owed. It panics if more are owed than were ever
// posted.
func (c *Credits) Owe(withhold bool) (due bool) {
	if withhold {
		c.withheld++
	} else {
		c.again++
	}
	owed := c.owed()
	if owed+c.withheld > c.posted {
		panic("flow: owes more credits than it posted receives")
	}
	return owed >= max(1, (c.posted-c.withheld)/2)
}

// Withholds reports whether credits are withheld.
func (c *Credits) Withholds() bool { return c.withheld > 0 }

// Release owes the credits that were withheld. due is as for Owe.
func (c *Credits) Release() (due bool) {
	for c.withheld > 0 {
		c.withheld--
		due = c.Owe(false)
	}
	return due
}

// Give adds n ≥ 0 credits that the peer returned. It reports false if the peer
// returned more than this side ever had, which breaks the protocol; then it adds none.
func (c *Credits) Give(n int) bool {
	if n > int(c.granted-c.available) {
		return false
	}
	c.available += int32(n)
	return true
}

// Available is how many packets may be sent, the reserves included.
func (c *Credits) Available() int { return int(c.available) }

// Granted is how many receives the peer has posted in all.
func (c *Credits) Granted() int { return int(c.granted) }

// Owed is how many credits the peer is to get back, those withheld included.
func (c *Credits) Owed() int { return int(c.owed() + c.withheld) }

func (c *Credits) String() string {
	return fmt.Sprintf("%d/%d owed %d/%d", c.available, c.granted, c.owed(), c.posted)
}
