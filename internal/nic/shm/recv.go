package shm

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// PostRecv implements nic.Port. There can be at most 64 posted receives and loans
// together (RecvDepthMax); beyond that it returns ErrAgain. A descriptor that
// holds a loan must be posted to the port that lent it.
func (p *Port) PostRecv(d *nic.Descriptor) error {
	if p.closed || p.dev.closed {
		return nic.ErrClosed
	}
	if p.recvs.Len() >= p.attrs.RecvDepth {
		return nic.ErrAgain
	}
	if len(d.Segments) != 0 {
		if err := p.checkRecv(d); err != nil {
			return err
		}
	}
	c := p.conn
	if c != nil && c.loans != 0 {
		c.returnLoan(d)
	}
	if len(p.retired) != 0 {
		p.returnRetired(d)
	}
	if c != nil && c.free == 0 {
		return nic.ErrAgain
	}
	d.Status, d.Length, d.Data = nic.StatusPending, 0, nil
	p.recvs.Push(d)
	if c != nil {
		c.grant()
	}
	return nil
}

func (p *Port) checkRecv(d *nic.Descriptor) error {
	if len(d.Segments) > SegmentsMax {
		return fmt.Errorf("shm: %d segments, at most %d", len(d.Segments), SegmentsMax)
	}
	for i := range d.Segments {
		s := &d.Segments[i]
		if s.Handle != 0 && !p.dev.table.covers(s.Handle, s.Data, p.attrs.Tag) {
			return fmt.Errorf("shm: receive segment %d: %w", i, nic.ErrUnknownHandle)
		}
	}
	return nil
}

// returnLoan takes back the buffer that a descriptor holds, if it holds one.
func (c *conn) returnLoan(d *nic.Descriptor) {
	// Data usually still points into the buffer; the owner may have moved it.
	if len(d.Data) > 0 {
		off := uintptr(unsafe.Pointer(unsafe.SliceData(d.Data))) - uintptr(unsafe.Pointer(unsafe.SliceData(c.rxBuffers)))
		if b := off / bufferBytes; b < ringSlots && c.loanedTo[b] == d {
			c.unloan(int(b))
			return
		}
	}
	for set := c.loans; set != 0; set &= set - 1 {
		if b := bits.TrailingZeros64(set); c.loanedTo[b] == d {
			c.unloan(b)
			return
		}
	}
}

func (c *conn) unloan(b int) {
	c.loanedTo[b] = nil
	c.loans &^= 1 << b
	c.free |= 1 << b
}

// returnRetired takes back a loan of a former connection of the port.
func (p *Port) returnRetired(d *nic.Descriptor) {
	for _, c := range p.retired {
		c.returnLoan(d)
	}
	p.sweepRetired()
}

// sweepRetired forgets former connections that have no loans left.
func (p *Port) sweepRetired() {
	kept := p.retired[:0]
	for _, c := range p.retired {
		if c.loans != 0 {
			kept = append(kept, c)
		} else if c.state == connDead {
			c.release()
		}
	}
	clear(p.retired[len(kept):])
	p.retired = kept
}

// take delivers messages from the ring until the ring is empty or out is full. h is the header of
// the first message. take returns the number of events in out.
func (c *conn) take(h uint64, out []nic.Event, n int) int {
	p := c.port
	for {
		length := headerLength(h)
		if length < 0 || c.received == c.posted {
			c.breakRules("a slot header that cannot be")
			return n
		}
		d := p.recvs.Pop()
		c.deliver(d, h, length)
		if h&flagImmediate != 0 {
			d.Flags |= nic.FlagImmediate
			d.Immediate = uint32(h)
		} else {
			d.Flags &^= nic.FlagImmediate
		}
		out[n] = nic.Event{Kind: nic.EventRecv, Cookie: p.cookie, Desc: d}
		n++

		c.advance()
		if n == len(out) {
			return n
		}
		if h = atomic.LoadUint64(c.header); uint16(h>>stampShift) != c.stamp {
			return n
		}
	}
}

// advance is called when a message was taken. It makes the next slot the one that is looked at.
func (c *conn) advance() {
	c.received++
	c.header = (*uint64)(unsafe.Add(c.rxSlots, uintptr(c.received%ringSlots)*slotBytes))
	c.stamp = stamp(c.received)
	c.sentInRow = 0
	if c.arrivedInRow++; c.arrivedInRow > 1 {
		// Several messages in a row: the next one may be there already. Its cache line
		// comes while this one is handled. Lines further ahead would be taken from the
		// other side, which is about to write them.
		prefetchRead(unsafe.Pointer(c.header))
	}
}

// deliver copies the payload to its receive, or lends it in place. The header was
// checked; deliver reads nothing of the payload.
func (c *conn) deliver(d *nic.Descriptor, h uint64, length int) {
	slot := c.received % ringSlots
	b := c.bufferOf[slot]
	var from []byte
	if h&flagBuffered == 0 {
		from = unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(c.header), inlineOff)), InlineBytesMax)[:length]
	} else {
		from = c.rxBuffers[int(b)*bufferBytes:][:length:length]
	}
	d.Status, d.Length, d.Shared = nic.StatusSuccess, length, false
	switch {
	case d.Flags&nic.FlagLoan == 0:
		d.Data = nil
		if !scatter(d.Segments, from) {
			d.Status, d.Length = nic.StatusLengthError, 0
		}
	case h&flagBuffered == 0:
		d.Data = d.Inline[:copy(d.Inline[:], from)]
	default:
		d.Data, d.Shared = from, true
		c.loans |= 1 << b
		c.loanedTo[b] = d
		return
	}
	c.free |= 1 << b
}

// scatter copies a message into the segments. It reports false if the message is
// longer.
func scatter(to []nic.Segment, from []byte) bool {
	room := 0
	for i := range to {
		room += len(to[i].Data)
	}
	if len(from) > room {
		return false
	}
	for i := range to {
		if len(from) == 0 {
			break
		}
		from = from[copy(to[i].Data, from):]
	}
	return true
}
