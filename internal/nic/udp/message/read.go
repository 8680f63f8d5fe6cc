package message

import (
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// answer makes the answer to a read request whose turn has come. It reports false
// if the limit of answers under way is reached.
func (q *Queue) answer(h *wire.Segment) bool {
	if q.owing >= AnswersMax {
		return false
	}
	w := q.pool.work(0)
	w.owed = true
	q.owing++
	n := int(h.Total)
	ok := n <= q.limits.RDMABytesMax
	if ok {
		_, ok = q.memory.Readable(h.Addr, nic.Handle(h.Handle), n)
	}
	if !ok {
		w.head = wire.Segment{Kind: wire.SegmentReadRefused, Number: h.Number}
		q.control.Add(w, &w.waits)
		return true
	}
	// The remote side's address and handle are kept only in the work.
	w.lane = LaneData
	w.head = wire.Segment{Kind: wire.SegmentReadData, Number: h.Number, Total: h.Total, Addr: h.Addr, Handle: h.Handle}
	q.answers.Add(w, &w.waits)
	return true
}

// withdraw turns an answer whose memory was withdrawn into a refusal. Its segments
// under way become the refusal when they are retransmitted.
func (q *Queue) withdraw(w *work) {
	if q.answers.First() == w {
		q.answers.Pop() // otherwise all of it was described before
	}
	w.turn(wire.Segment{Kind: wire.SegmentReadRefused, Number: w.head.Number})
}

// readData stores the data of an answer to a read of this side.
func (q *Queue) readData(s *wire.Segment, data []byte) (taken bool) {
	w := q.read(s.Number)
	if w == nil {
		return q.nobodysRead(s)
	}
	if !w.begun || s.Total != w.head.Total {
		q.breach("an answer that does not fit its read")
		return false
	}
	if !q.add(&w.cover, s.Offset, s.Offset+uint32(len(data))) {
		q.stats.Refused++
		return false
	}
	scatter(w.d.Segments, int(s.Offset), data)
	if w.cover.have == w.head.Total {
		q.readDone(w, nic.StatusSuccess)
	}
	return true
}

// readRefused handles the refusal of a read of this side.
func (q *Queue) readRefused(s *wire.Segment) (taken bool) {
	w := q.read(s.Number)
	switch {
	case w == nil:
		return q.nobodysRead(s)
	case !w.begun:
		q.breach("a refusal of a read that it was not sent")
		return false
	}
	q.readDone(w, nic.StatusRDMAError)
	return true
}

// read is the read of this side with a number that waits for data; nil if there is none. Reads are answered in their order, so the
// first one is nearly always the one.
func (q *Queue) read(number uint32) *work {
	w := q.reads.First()
	for w != nil && w.head.Number != number {
		w = w.reads.Next()
	}
	return w
}

func (q *Queue) readDone(w *work, status nic.Status) {
	q.reads.Remove(&w.reads)
	q.forget(&w.cover)
	w.status = status
	q.settle()
}

// nobodysRead handles an answer to a read that is not pending. A read may have
// been refused or completed before its last segments came.
func (q *Queue) nobodysRead(s *wire.Segment) (taken bool) {
	if int32(s.Number-q.number) >= 0 {
		q.breach("an answer to a read that nobody asked for")
		return false
	}
	q.stats.Stale++
	return true
}
