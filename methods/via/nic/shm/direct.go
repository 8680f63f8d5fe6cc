package shm

import (
	"sync/atomic"
	"unsafe"
)

// Claim implements nic.DirectPort. A message that fits a slot is written there, unless
// there is an obstacle that PostSend handles.
func (p *Port) Claim(length int) []byte {
	c := p.conn
	if c == nil || c.state != connOpen || p.sends.head != nil || length > InlineBytesMax || c.sent == c.limit && !c.more() {
		return nil
	}
	c.claimed, c.claimedBytes = c.nextSlot(), length
	return unsafe.Slice((*byte)(unsafe.Add(c.claimed, inlineOff)), InlineBytesMax)[:length]
}

// more reports whether the other side now lets us send more. An impossible limit is left
// to PostSend.
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
