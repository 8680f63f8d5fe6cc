package shm

import (
	"sync/atomic"
	"unsafe"
)

// Claim implements nic.DirectPort: what fits a slot is written there, unless something is
// in its way that PostSend deals with.
func (p *Port) Claim(length int) []byte {
	c := p.conn
	if c == nil || c.state != connOpen || p.sends.head != nil || length > InlineBytesMax || c.sent == c.limit && !c.more() {
		return nil
	}
	c.claimed, c.claimedBytes = c.nextSlot(), length
	return unsafe.Slice((*byte)(unsafe.Add(c.claimed, inlineOff)), InlineBytesMax)[:length]
}

// more looks whether the other side lets us send more by now. A limit that cannot be is
// PostSend's to deal with.
func (c *conn) more() bool {
	limit := atomic.LoadUint64(c.theirLimit)
	if limit == c.sent || limit-c.sent > ringSlots {
		return false
	}
	c.limit = limit
	return true
}

// Publish implements nic.DirectPort.
func (p *Port) Publish() {
	c := p.conn
	c.publish(c.claimed, makeHeader(c.sent, c.claimedBytes, 0, 0))
}
