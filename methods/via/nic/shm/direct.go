package shm

import "unsafe"

// Claim implements nic.DirectPort: what fits a slot is written there, unless something is
// in its way that PostSend deals with.
func (p *Port) Claim(length int) []byte {
	c := p.conn
	if c == nil || c.state != connOpen || p.sends.head != nil || length > InlineBytesMax || c.sent == c.limit {
		return nil
	}
	c.claimed, c.claimedBytes = c.nextSlot(), length
	return unsafe.Slice((*byte)(unsafe.Add(c.claimed, inlineOff)), InlineBytesMax)[:length]
}

// Publish implements nic.DirectPort.
func (p *Port) Publish() {
	c := p.conn
	c.publish(c.claimed, makeHeader(c.sent, c.claimedBytes, 0, 0))
}
