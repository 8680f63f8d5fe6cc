package shm

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// PostSend implements nic.Port. A send is copied into the shared memory at once
// and is done; only descriptors posted behind an unfinished RDMA descriptor wait.
func (p *Port) PostSend(d *nic.Descriptor) (done bool, err error) {
	c := p.conn
	if c == nil || c.state != connOpen {
		return false, p.notConnected()
	}
	if p.sends.Head() != nil || d.Op != nic.OpSend {
		return p.postOrdered(c, d)
	}
	d.Length = 0
	d.Status = c.send(d)
	if d.Status == nic.StatusNoDescriptor {
		c.outrun()
	}
	return true, nil
}

func (p *Port) notConnected() error {
	if p.closed || p.dev.closed {
		return nic.ErrClosed
	}
	return nic.ErrNotConnected
}

// postOrdered posts RDMA descriptors, and sends that must not overtake one.
func (p *Port) postOrdered(c *conn, d *nic.Descriptor) (done bool, err error) {
	if d.File.File != nil && (d.Op != nic.OpRDMAWrite || len(d.Segments) > 0) {
		return false, fmt.Errorf("shm: a file is what an RDMA write takes all of its bytes from, and nothing else")
	}
	if len(d.Segments) > SegmentsMax {
		return false, fmt.Errorf("shm: %d segments, at most %d", len(d.Segments), SegmentsMax)
	}
	if d.Op != nic.OpSend && d.Op != nic.OpRDMAWrite && d.Op != nic.OpRDMARead {
		return false, fmt.Errorf("shm: descriptor with operation %d on a send queue", d.Op)
	}
	if p.sends.Len() >= p.attrs.SendDepth {
		return false, nic.ErrAgain
	}
	d.Status, d.Length = nic.StatusPending, 0
	if p.sends.Head() == nil {
		if d.Status = c.rdma(d, rdmaCallBytes); d.Status != nic.StatusPending {
			if d.Status == nic.StatusNoDescriptor {
				c.outrun()
			}
			return true, nil
		}
		p.dev.busy = append(p.dev.busy, p)
		p.dev.urgent = true
	}
	p.sends.Push(d)
	return false, nil
}

// outrun ends a connection on which a message found no receive posted, as the VI
// Architecture requires on the reliable levels (1.0, section 2.4).
func (c *conn) outrun() {
	c.end(fmt.Errorf("shm: %s had no receive posted for a message; the connection ended", c.remote), codeNoDescriptor)
}

// send copies a message into the ring and publishes it.
func (c *conn) send(d *nic.Descriptor) nic.Status {
	length := 0
	for i := range d.Segments {
		s := &d.Segments[i]
		if s.Handle != 0 && !c.dev.table.covers(s.Handle, s.Data, c.port.attrs.Tag) {
			return nic.StatusProtectionError
		}
		length += len(s.Data)
	}
	if length > MTUBytes || len(d.Segments) > SegmentsMax {
		return nic.StatusLengthError
	}
	if c.sent == c.limit {
		if status := c.reread(); status != nic.StatusPending {
			return status
		}
	}
	slot := c.nextSlot()
	var to []byte
	var flags uint64
	if length <= InlineBytesMax {
		to = unsafe.Slice((*byte)(unsafe.Add(slot, inlineOff)), InlineBytesMax)
	} else {
		if to = c.sendBuffer(); to == nil {
			return nic.StatusTransportError
		}
		flags = flagBuffered
	}
	for i := range d.Segments {
		to = to[copy(to, d.Segments[i].Data):]
	}
	var immediate uint32
	if d.Flags&nic.FlagImmediate != 0 {
		flags |= flagImmediate
		immediate = d.Immediate
	}
	c.publish(slot, makeHeader(c.sent, length, flags, immediate))
	d.Length = length
	return nic.StatusSuccess
}

// nextSlot is the slot of the message to be sent.
func (c *conn) nextSlot() unsafe.Pointer {
	c.arrivedInRow = 0
	if c.sentInRow++; c.sentInRow > 1 {
		// Several messages in a row: the other side still has the cache lines of
		// the slots from their last use, and each store would wait for its line.
		// In a ping-pong this would only delay the message.
		prefetchWrite(unsafe.Add(c.txSlots, uintptr((c.sent+writeAhead)%ringSlots)*slotBytes))
	}
	return unsafe.Add(c.txSlots, uintptr(c.sent%ringSlots)*slotBytes)
}

// publish shows the other side the message in a slot, by its header.
func (c *conn) publish(slot unsafe.Pointer, header uint64) {
	// This publishes the message, and is a full fence: if the other side
	// requested its doorbell before it could see the message, the load below sees
	// the request. A store would cost as much, but under the race detector it is
	// no fence for memory that is not Go's.
	atomic.SwapUint64((*uint64)(slot), header)
	c.sent++
	if bell := atomic.LoadUint64(c.theirBell); bell&1 != 0 && bell != c.rung {
		c.ring(bell)
	}
	if c.cold {
		c.dev.makeHot(c) // an answer is likely
	}
	if c.limit-c.sent < limitAhead {
		// The word is probably in the other side's cache: fetch it now rather
		// than when the next message needs it.
		if limit := atomic.LoadUint64(c.theirLimit); limit-c.sent <= ringSlots {
			c.limit = limit
		}
	}
}

// reread reads how much the other side now lets us send. If it is nothing, reread
// returns the status of the message, else StatusPending.
func (c *conn) reread() nic.Status {
	limit := atomic.LoadUint64(c.theirLimit)
	switch {
	case limit-c.sent > ringSlots:
		c.breakRules("a limit that cannot be")
		return nic.StatusTransportError
	case limit != c.sent:
		c.limit = limit
		return nic.StatusPending
	case c.port.attrs.Reliability == nic.Unreliable:
		c.dev.stats.Dropped++
		return nic.StatusSuccess
	}
	return nic.StatusNoDescriptor
}

// sendBuffer is the receiver's buffer for the next message. It is nil if there is
// no memory for the buffer or the other side named one that does not exist.
func (c *conn) sendBuffer() []byte {
	b := c.theirBuffer(c.sent)
	if b >= ringSlots {
		c.breakRules("a buffer number that cannot be")
		return nil
	}
	buf := c.txBuffers[b*bufferBytes:][:bufferBytes:bufferBytes]
	if c.backed&(1<<b) == 0 {
		if err := backPages(buf); err != nil {
			c.dev.stats.OutOfResources++
			c.end(resourceError("buffers towards "+c.remote, err), codeResource)
			return nil
		}
		c.backed |= 1 << b
		c.dev.trimLater()
	}
	return buf
}

// theirBuffer is the number of the buffer that the other side assigned to the
// slot of a message. The other side may have written any value there.
func (c *conn) theirBuffer(index uint64) uint64 {
	slot := uintptr(index % ringSlots)
	return atomic.LoadUint64((*uint64)(unsafe.Add(c.theirIDs, slot&^7))) >> (8 * (slot & 7)) & 0xff
}

// ring wakes the other side, once per request.
func (c *conn) ring(bell uint64) {
	c.rung = bell
	c.dev.stats.DoorbellsRung++
	if c.peer.foreign {
		// A foreign process could make a write to its doorbell block; sendRecord
		// never blocks.
		_ = sendRecord(c.sock, ringRecord)
		return
	}
	// Errors do not matter: a full counter is a doorbell that is already rung,
	// and a peer's death is noticed on its socket.
	_, _ = unix.Write(c.bellOut, c.dev.one[:])
}

// trim gives back the pages of buffers that this side may write but has not used
// for a while. Until they are sent they belong to the sender: they are the
// buffers of slots between sent and limit, which the receiver neither reads nor
// has on loan.
//
// It works only where a page is not larger than a buffer, because the kernel
// rounds up.
func (c *conn) trim() {
	limit := atomic.LoadUint64(c.theirLimit)
	if limit-c.sent > ringSlots || os.Getpagesize() != controlPage {
		return
	}
	for i := c.sent; i != limit && c.backed != 0; i++ {
		b := c.theirBuffer(i)
		if b >= ringSlots || c.backed&(1<<b) == 0 {
			continue
		}
		if unix.Madvise(c.txBuffers[b*bufferBytes:][:bufferBytes], unix.MADV_REMOVE) != nil {
			return
		}
		c.backed &^= 1 << b
		c.dev.stats.TrimmedBytes += bufferBytes
	}
}
