package message

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A recvRing holds the posted receives. Every receive has a number; those from done
// to posted (exclusive) are in the ring.
type recvRing struct {
	ring         []*nic.Descriptor // a power of two
	done, posted uint32
}

func (r *recvRing) count() int { return int(r.posted - r.done) }

// at returns the receive with a number, or nil if it is not posted.
func (r *recvRing) at(number uint32) *nic.Descriptor {
	if number-r.done >= r.posted-r.done {
		return nil
	}
	return r.ring[number&uint32(len(r.ring)-1)]
}

func (r *recvRing) append(d *nic.Descriptor) {
	if r.count() == len(r.ring) {
		r.resize(max(ringMin, 2*len(r.ring)))
	}
	r.ring[r.posted&uint32(len(r.ring)-1)] = d
	r.posted++
}

// take takes the oldest receive; there must be one.
func (r *recvRing) take() *nic.Descriptor {
	i := r.done & uint32(len(r.ring)-1)
	d := r.ring[i]
	r.ring[i] = nil
	r.done++
	return d
}

func (r *recvRing) resize(size int) {
	ring := make([]*nic.Descriptor, size)
	for n := r.done; n != r.posted; n++ {
		ring[n&uint32(size-1)] = r.at(n)
	}
	r.ring = ring
}

func (r *recvRing) shrink() {
	size := ringMin
	for size < r.count() {
		size *= 2
	}
	switch {
	case r.count() == 0:
		r.ring = nil
	case size < len(r.ring):
		r.resize(size)
	}
}

// PostRecv takes a receive, as nic.Port says. If the descriptor still has a buffer on loan,
// PostRecv always returns the buffer. PostRecv returns nic.ErrAgain if the queue is full and
// nic.ErrNotConnected if the connection is over.
func (q *Queue) PostRecv(d *nic.Descriptor) error {
	if loan := q.loans.take(d); loan != nil {
		loan.Free()
	}
	switch {
	case q.ended || q.err != nil:
		return nic.ErrNotConnected
	case d.Op != nic.OpRecv:
		return fmt.Errorf("message: a descriptor of kind %d on the receive queue", d.Op)
	case len(d.Segments) > q.limits.SegmentsMax:
		return fmt.Errorf("message: %d segments, at most %d", len(d.Segments), q.limits.SegmentsMax)
	case q.recvs.count() >= q.attrs.RecvDepth:
		return nic.ErrAgain
	case !q.covered(d):
		return fmt.Errorf("message: a receive into memory that the port may not use: %w", nic.ErrUnknownHandle)
	}
	d.Status, d.Length, d.Data = nic.StatusPending, 0, nil
	q.recvs.append(d)
	return nil
}

// Receives is the number of receives that are posted.
func (q *Queue) Receives() int { return q.recvs.count() }

// covered reports whether the memory of a descriptor is registered.
func (q *Queue) covered(d *nic.Descriptor) bool {
	for i := range d.Segments {
		if d.Segments[i].Handle != 0 && !q.memory.Covers(d.Segments[i]) {
			return false
		}
	}
	return true
}

// finishRecv returns the oldest receive, with the result of a message.
func (q *Queue) finishRecv(m *inbound) {
	d := q.recvs.take()
	h := &m.head
	d.Flags, d.Immediate = d.Flags&^nic.FlagImmediate, h.Immediate
	if h.HasImmediate {
		d.Flags |= nic.FlagImmediate
	}
	if m.status != nic.StatusSuccess {
		d.Data = nil
		q.giveBack(d, m.status, 0)
		return
	}
	d.Data, d.Shared = m.flat, false
	if h.Kind == wire.SegmentWrite && d.Flags&nic.FlagLoan != 0 {
		d.Data = d.Inline[:0] // the data is in the memory that the sender named
	}
	if m.loan != nil {
		q.loans.add(d, m.loan)
		m.loan = nil
	}
	q.giveBack(d, nic.StatusSuccess, int(h.Total))
}
