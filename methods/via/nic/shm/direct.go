package shm

import (
	"sync/atomic"
	"unsafe"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
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

// Take implements nic.DirectDevice. Connections take turns, message by message.
func (d *Device) Take(to *[nic.InlineMax]byte) (cookie any, length int, idle bool) {
	if d.urgent || d.budget <= 0 || d.closed {
		return nil, 0, false
	}
	i := d.cursor
	for range d.hot {
		if i >= len(d.hot) {
			i = 0
		}
		c := d.hot[i]
		h := atomic.LoadUint64(c.header)
		if uint16(h>>stampShift) != c.stamp {
			i++
			continue
		}
		d.cursor = i
		if length = c.takeInline(h, to); length < 0 {
			return nil, 0, false
		}
		d.cursor++
		d.budget -= pollBusyCost
		return c.port.cookie, length, false
	}
	d.cursor = i
	d.budget -= d.emptyCost
	return nil, 0, true
}

// takeInline copies a message with header h out of its slot, and lets the other side send one more. It returns the length, or -1 for one
// that is not as simple as that.
func (c *conn) takeInline(h uint64, to *[nic.InlineMax]byte) int {
	length := headerLength(h)
	if h&(flagBuffered|flagImmediate) != 0 || length < 0 || c.received == c.posted {
		return -1
	}
	*to = *(*[InlineBytesMax]byte)(unsafe.Add(unsafe.Pointer(c.header), inlineOff))
	c.sentInRow = 0
	c.free |= 1 << c.bufferOf[c.received%ringSlots]
	c.advance()
	if c.arrivedInRow++; c.arrivedInRow > 1 {
		// Several messages in a row: the next one may be there already. Its cache line
		// comes while this one is handled. Lines further ahead would be taken from the
		// other side, which is about to write them.
		prefetchRead(unsafe.Pointer(c.header))
	}
	c.grant()
	return length
}
