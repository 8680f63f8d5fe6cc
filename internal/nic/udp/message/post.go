package message

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// PostSend takes a send, RDMA write or RDMA read, as nic.Port says. If it returns an
// error it took nothing: nic.ErrAgain if the queue is full, nic.ErrNotConnected if
// the connection is over. A descriptor that cannot be sent because of its length or
// memory is done with that Status, and has no other effect.
//
// Small sends are copied and done at once, unless the level is
// nic.ReliableReception. The others are finished when all of their segments are
// acknowledged.
func (q *Queue) PostSend(d *nic.Descriptor) (done bool, err error) {
	switch {
	case q.ended || q.err != nil:
		return false, nic.ErrNotConnected
	case d.Op == nic.OpRecv || d.Op > nic.OpRDMARead:
		return false, fmt.Errorf("message: a descriptor of kind %d on the send queue", d.Op)
	case d.Op == nic.OpRDMARead && q.attrs.Reliability == nic.Unreliable:
		return false, fmt.Errorf("message: RDMA read needs a reliable port")
	case len(d.Segments) > q.limits.SegmentsMax:
		return false, fmt.Errorf("message: %d segments, at most %d", len(d.Segments), q.limits.SegmentsMax)
	case q.posted >= q.attrs.SendDepth:
		return false, nic.ErrAgain
	}
	d.Status, d.Length, d.Data = nic.StatusPending, 0, nil
	length, status := q.checkLocal(d)
	if status != nic.StatusSuccess {
		d.Status = status
		return true, nil
	}
	q.stats.Sent++
	q.stats.SentBytes += uint64(length)
	if q.mayCopy(d, length) {
		q.postCopy(d, length)
		return true, nil
	}
	w := q.pool.work(0)
	w.d = d
	q.enter(w, d, length)
	q.posted++
	q.order.Add(w, &w.order)
	return false, nil
}

// checkLocal measures a descriptor and finds errors with which it completes at once.
func (q *Queue) checkLocal(d *nic.Descriptor) (length int, status nic.Status) {
	limit := q.limits.MTUBytes
	if d.Op != nic.OpSend {
		limit = q.limits.RDMABytesMax
	}
	for i := range d.Segments {
		s := &d.Segments[i]
		if s.Handle != 0 && !q.memory.Covers(*s) {
			return 0, nic.StatusProtectionError
		}
		if length += len(s.Data); length > limit {
			return 0, nic.StatusLengthError
		}
	}
	return length, nic.StatusSuccess
}

func (q *Queue) mayCopy(d *nic.Descriptor, length int) bool {
	return d.Op == nic.OpSend && length <= q.limits.CopyBytes &&
		q.attrs.Reliability != nic.ReliableReception && q.copies < CopiesMax &&
		(length <= smallCopy || q.copied < CopiedBytesMax)
}

// postCopy sends from a copy, so that the descriptor is free at once.
func (q *Queue) postCopy(d *nic.Descriptor, length int) {
	room := smallCopy
	if length > smallCopy {
		room = q.limits.CopyBytes
		q.copied += room
	}
	w := q.pool.work(room)
	for i := range d.Segments {
		w.room = append(w.room, d.Segments[i].Data...)
	}
	w.copied = true
	q.copies++
	q.enter(w, d, length)
	d.Status, d.Length = nic.StatusSuccess, length
}

// enter numbers a message and puts it into its lane.
func (q *Queue) enter(w *work, d *nic.Descriptor, length int) {
	h := &w.head
	h.Number, h.Total = q.number, uint32(length)
	q.number++
	w.lane = LaneData
	switch d.Op {
	case nic.OpSend:
		h.Kind = wire.SegmentSend
		if length <= q.limits.PriorityBytes {
			w.lane = LanePriority
		}
	case nic.OpRDMAWrite:
		h.Kind = wire.SegmentWrite
	case nic.OpRDMARead:
		h.Kind = wire.SegmentReadRequest
		w.lane = LanePriority
		q.reads.Add(w, &w.reads)
	}
	if d.Op != nic.OpSend {
		h.Addr, h.Handle = d.Remote.Addr, uint64(d.Remote.Handle)
	}
	if d.Op != nic.OpRDMARead && d.Flags&nic.FlagImmediate != 0 {
		h.HasImmediate, h.Immediate = true, d.Immediate
	}
	if takesReceive(h) {
		h.Recv = q.takes
		q.takes++
	}
	w.ours = true
	q.unacked.Add(w, &w.unacked)
	q.lanes[w.lane].Add(w, &w.waits)
}

// settle returns the oldest finished descriptors of the send queue. Once the
// connection is over, Flush does that.
func (q *Queue) settle() {
	if q.err != nil {
		return
	}
	for w := q.order.First(); w != nil && w.status != nic.StatusPending; w = q.order.First() {
		q.order.Pop()
		q.release(w, w.status)
	}
}

// release returns the descriptor of a work. If part of the work is still under way,
// which is possible only at the end of a connection, it is cancelled.
func (q *Queue) release(w *work, status nic.Status) {
	d, length := w.d, 0
	if status == nic.StatusSuccess {
		length = int(w.head.Total)
	}
	w.d = nil
	q.posted--
	q.giveBack(d, status, length)
	switch {
	case w.acked:
		q.pool.freeWork(w)
	case w.head.Kind != wire.SegmentReadRequest:
		q.giveUp(w)
	}
}
