package message

import (
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// bindSend decides where the data of a send goes, when its first segment has
// arrived. It reports false if the segment cannot be taken. inTurn: the message is
// the next to take effect.
func (q *Queue) bindSend(m *inbound, data []byte, loan Loan, inTurn bool) (taken bool) {
	d := q.recvs.at(m.head.Recv)
	if d == nil {
		return q.withoutReceive(m, inTurn)
	}
	status, ok := q.destination(m, d, data, loan)
	switch {
	case !ok:
		return false // no device buffer is free
	case status == nic.StatusSuccess:
		return true
	case q.attrs.Reliability == nic.Unreliable:
		m.discard, m.status = true, status
		return true
	case inTurn:
		m.status = status
		q.finishRecv(m)
		reason := wire.ReasonLength
		if status == nic.StatusProtectionError {
			reason = wire.ReasonMemory
		}
		q.refuse(m.head.Number, reason)
	}
	return false
}

// destination chooses between the descriptor itself, the buffer in which the message
// arrived, the memory of the receive, and a separate device buffer. ok is false if
// only the last is possible and none is free.
func (q *Queue) destination(m *inbound, d *nic.Descriptor, data []byte, loan Loan) (status nic.Status, ok bool) {
	total := int(m.head.Total)
	if total > q.limits.MTUBytes {
		return nic.StatusLengthError, true
	}
	lend := d.Flags&nic.FlagLoan != 0
	switch {
	case lend && total <= q.limits.InlineBytesMax:
		m.flat = d.Inline[:total]
	case lend && loan != nil && len(data) == total:
		loan.Hold()
		m.flat, m.loan = data[:total:total], loan
	case fits(d, total):
		if !q.covered(d) {
			return nic.StatusProtectionError, true
		}
	case !lend || q.buffers == nil:
		return nic.StatusLengthError, true
	default:
		mem, own, ok := q.buffers.Take(total)
		if !ok {
			return 0, false
		}
		m.flat, m.loan = mem[:total:total], own
	}
	return nic.StatusSuccess, true
}

// fits reports whether the segments of a receive have room for a message.
func fits(d *nic.Descriptor, total int) bool {
	for i := range d.Segments {
		if total -= len(d.Segments[i].Data); total <= 0 {
			return true
		}
	}
	return total <= 0
}

// bindWrite checks a write when its first segment has arrived.
func (q *Queue) bindWrite(m *inbound, whole, inTurn bool) (taken bool) {
	h := &m.head
	ok := int(h.Total) <= q.limits.RDMABytesMax
	if ok {
		_, ok = q.memory.Writable(h.Addr, nic.Handle(h.Handle), int(h.Total))
	}
	if !ok {
		return q.unwritable(m, inTurn)
	}
	return !h.HasImmediate || !whole || q.hasReceive(m, inTurn)
}

// unwritable handles a write into memory that does not allow it.
func (q *Queue) unwritable(m *inbound, inTurn bool) (taken bool) {
	switch {
	case q.attrs.Reliability == nic.Unreliable:
		m.discard, m.status = true, nic.StatusRDMAError
		return !m.head.HasImmediate || q.hasReceive(m, inTurn)
	case inTurn:
		q.refuse(m.head.Number, wire.ReasonRDMA)
	}
	return false
}

// hasReceive checks that a write finds the receive that it takes.
func (q *Queue) hasReceive(m *inbound, inTurn bool) bool {
	return q.recvs.at(m.head.Recv) != nil || q.withoutReceive(m, inTurn)
}

// withoutReceive handles a message whose receive is not posted. Out of turn it is
// not taken, because the receive may be posted when the message comes again. In
// turn, a reliable connection ends (VI Architecture 1.0, section 2.4), and an
// unreliable one continues without the message.
func (q *Queue) withoutReceive(m *inbound, inTurn bool) (taken bool) {
	switch {
	case !inTurn:
		return false
	case q.attrs.Reliability != nic.Unreliable:
		q.refuse(m.head.Number, wire.ReasonNoReceive)
		return false
	}
	q.skipReceive()
	m.dropped = true
	if m.head.Kind == wire.SegmentSend {
		m.discard = true
	}
	return true
}
