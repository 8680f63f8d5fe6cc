package shm

import (
	"sync/atomic"
	"unsafe"

	"github.com/viaduct-hpc/viaduct/internal/spin"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Claim implements nic.DirectPort. The message is written to its slot, or to the buffer of its slot,
// unless there is an obstacle that PostSend handles.
func (p *Port) Claim(length int) []byte {
	c := p.conn
	if c == nil || c.state != connOpen || p.sends.Head() != nil || length > MTUBytes || c.sent == c.limit && !c.more() {
		return nil
	}
	var buffer, flags uint64
	if length > InlineBytesMax {
		flags = flagBuffered
		if buffer = c.theirBuffer(c.sent); buffer >= ringSlots || c.backed&(1<<buffer) == 0 {
			return nil
		}
	}
	c.claimed, c.claimedAs = c.nextSlot(), makeHeader(c.sent, length, flags, 0)
	if flags != 0 {
		return c.txBuffers[buffer*bufferBytes:][:length:length]
	}
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
	c.publish(c.claimed, c.claimedAs)
}

// Take implements nic.DirectDevice. Connections take turns, message by message.
func (d *Device) Take(to *[nic.InlineMax]byte) (cookie any, data []byte, lent, idle bool) {
	if d.urgent || d.budget <= 0 || d.closed {
		return nil, nil, false, false
	}
	i := d.cursor
	var c *conn
	for range d.hot {
		if i >= len(d.hot) {
			i = 0
		}
		c = d.hot[i]
		h := atomic.LoadUint64(c.header)
		if uint16(h>>stampShift) != c.stamp {
			i++
			continue
		}
		d.cursor = i
		length := headerLength(h)
		if h&flagImmediate != 0 || length < 0 || c.received == c.posted {
			return nil, nil, false, false // it is not as simple as that
		}
		d.cursor++
		d.budget -= pollBusyCost
		if h&flagBuffered != 0 {
			return c.port.cookie, c.takeBuffer(length), true, false
		}
		small := *(*[InlineBytesMax]byte)(unsafe.Add(unsafe.Pointer(c.header), inlineOff)) // a copy in registers
		*to = small
		c.advance()
		if c.posted-c.received == ringSlots-1 { // the slot of this message is granted again, with its buffer, which it did not use
			c.posted++
			storeRelease(c.ourLimit, c.posted)
		} else {
			c.free |= 1 << c.bufferOf[(c.received-1)%ringSlots]
			c.grant()
		}
		return c.port.cookie, to[:length], false, false
	}
	d.cursor = i
	d.budget -= d.emptyCost
	if c != nil && c.arrivedInRow > streamAfter {
		c.letAhead()
	}
	return nil, nil, false, true
}

// letAhead pauses in the middle of a stream. A receiver that is faster than its sender looks at the next slot again and again, and takes
// its line from the sender, which needs it to write. The pauses end soon after the stream.
func (c *conn) letAhead() {
	c.arrivedInRow--
	for range streamPause {
		spin.Relax()
	}
}

// takeBuffer lends a message of a length, in bytes, in its buffer. The other side may send one more after Return.
func (c *conn) takeBuffer(length int) []byte {
	b := c.bufferOf[c.received%ringSlots]
	data := c.rxBuffers[int(b)*bufferBytes:][:length:length]
	for at := 0; at < min(length, readAhead); at += slotBytes {
		prefetchRead(unsafe.Pointer(&data[at])) // the lines come together, while the first is parsed
	}
	c.loans |= 1 << b
	c.dev.lent, c.dev.lentBuffer = c, b
	c.advance()
	return data
}

// Return implements nic.DirectDevice.
func (d *Device) Return() {
	c := d.lent
	d.lent = nil
	c.unloan(int(d.lentBuffer))
	if c.port.conn == c {
		c.grant()
	} else {
		c.port.sweepRetired()
	}
}
