package message

import (
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// A Segment describes one outgoing segment. It is a few words, so that a lost
// segment can be sent again from its original memory; Append makes its bytes.
type Segment struct {
	w        *work
	first, n uint32 // the bytes [first, first+n) of the message
}

// Len is the length of the result of Append, in bytes. It may shrink when the memory
// of the segment is gone.
func (s *Segment) Len() int { return s.w.head.HeaderLen() + s.DataLen() }

// DataLen is Len without the header.
func (s *Segment) DataLen() int {
	if s.w.head.Total == 0 {
		return 0
	}
	return int(s.n)
}

// EndsWrite reports whether a segment, which Next has just described, is the last of
// an RDMA write that the other side does not notice: the other side has no reason to
// answer, and the owner of the descriptor waits only for the ack.
func (s *Segment) EndsWrite() bool {
	h := &s.w.head
	return h.Kind == wire.SegmentWrite && !h.HasImmediate && s.w.whole()
}

// Next describes a new segment for a lane, with at most room > 0 bytes of data
// behind its header; ok is false if there is nothing to send.
func (q *Queue) Next(lane, room int) (s Segment, ok bool) {
	if room <= 0 || q.err != nil && (lane != LanePriority || q.control.Len() == 0) {
		return Segment{}, false // a connection that is over sends only the reason
	}
	if cut := q.cut[lane]; len(cut) > 0 && q.err == nil {
		s = cut[len(cut)-1]
		q.cut[lane] = cut[:len(cut)-1]
		if int(s.n) > room {
			q.Fit(lane, &s, room)
		}
		return s, true
	}
	list := q.choose(lane)
	if list == nil {
		return Segment{}, false
	}
	return q.describe(lane, list, min(list.First().left(), room)), true
}

// NextSmall describes a new segment for a lane that is a whole message, with at most max
// bytes of data, and at most room bytes with its header; ok is false if there is none.
func (q *Queue) NextSmall(lane, max, room int) (s Segment, ok bool) {
	if q.err != nil || len(q.cut[lane]) > 0 {
		return Segment{}, false
	}
	list := q.choose(lane)
	if list == nil {
		return Segment{}, false
	}
	w := list.First()
	if n := w.left(); w.begun || n > max || w.head.HeaderLen()+n > room {
		return Segment{}, false
	}
	return q.describe(lane, list, w.left()), true
}

// describe describes the next n bytes of the first message of a list.
func (q *Queue) describe(lane int, list *queue.List[work], n int) Segment {
	if lane == LaneData {
		q.answered = list == &q.answers
	}
	w := list.First()
	s := Segment{w: w, first: w.described, n: uint32(n)}
	w.begun = true
	w.inFlight++
	if w.described += s.n; w.head.Kind == wire.SegmentReadRequest {
		w.described = w.head.Total
	}
	if w.whole() {
		list.Pop()
	}
	return s
}

// Waiting reports whether Next has something for a lane.
func (q *Queue) Waiting(lane int) bool {
	if q.err != nil {
		return lane == LanePriority && q.control.Len() > 0
	}
	if len(q.cut[lane]) > 0 || lane == LanePriority && q.control.Len() > 0 || lane == LaneData && q.answers.Len() > 0 {
		return true
	}
	return q.mayGo(q.lanes[lane].First())
}

// choose finds the list whose head is to be sent next. Messages and answers take
// turns on the data lane.
func (q *Queue) choose(lane int) *queue.List[work] {
	mine := &q.lanes[lane]
	if !q.mayGo(mine.First()) {
		mine = nil
	}
	switch {
	case lane == LanePriority && q.control.Len() > 0:
		return &q.control
	case lane == LaneData && q.answers.Len() > 0 && (mine == nil || !q.answered):
		return &q.answers
	}
	return mine
}

// mayGo reports whether a message is within the window.
func (q *Queue) mayGo(w *work) bool {
	return w != nil && (w.begun || w.head.Number-q.unacked.First().head.Number < WindowMessages)
}

// Fit cuts a segment that is to be retransmitted down to room > 0 bytes of data,
// because the path's MTU became smaller. Next describes the rest again.
func (q *Queue) Fit(lane int, s *Segment, room int) {
	if int(s.n) <= room || s.w.head.Total == 0 {
		return
	}
	rest := Segment{w: s.w, first: s.first + uint32(room), n: s.n - uint32(room)}
	s.n = uint32(room)
	s.w.inFlight++
	q.cut[lane] = append(q.cut[lane], rest)
}

// Append appends the header of a segment to head and the memory of its data to
// pieces. Both must be sent, or copied, before the owner calls any method of the
// Queue except Next, NextSmall and Append.
func (q *Queue) Append(head []byte, pieces [][]byte, s *Segment) ([]byte, [][]byte) {
	w := s.w
	var mem []byte
	if w.head.Kind == wire.SegmentReadData {
		ok := !q.ended
		if !ok {
			w.turn(q.farewellHead())
		} else if mem, ok = q.memory.Readable(w.head.Addr+uint64(s.first), nic.Handle(w.head.Handle), int(s.n)); !ok {
			q.withdraw(w)
		}
	}
	h := w.head
	if h.Kind == wire.SegmentReadData {
		h.Addr, h.Handle = 0, 0
	}
	if h.Total > 0 && h.Kind != wire.SegmentReadRequest {
		h.Offset = s.first
	}
	head = h.Append(head)
	switch {
	case s.n == 0 || h.Total == 0:
	case h.Kind == wire.SegmentReadData:
		pieces = append(pieces, mem)
	case w.copied:
		pieces = append(pieces, w.room[s.first:s.first+s.n])
	default:
		pieces = gather(pieces, w.d.Segments, int(s.first), int(s.n))
	}
	return head, pieces
}

// gather appends the memory of the bytes [off, off+n) of segments.
func gather(pieces [][]byte, from []nic.Segment, off, n int) [][]byte {
	for i := range from {
		data := from[i].Data
		if off >= len(data) {
			off -= len(data)
			continue
		}
		data = data[off:]
		off = 0
		if len(data) >= n {
			return append(pieces, data[:n])
		}
		pieces = append(pieces, data)
		n -= len(data)
	}
	return pieces
}

// Acked records that the other side took a segment. Each segment of Next is
// acknowledged at most once.
func (q *Queue) Acked(s *Segment) {
	w := s.w
	if w.inFlight--; w.inFlight > 0 || !w.whole() {
		return
	}
	w.acked = true
	switch {
	case w.ours:
		q.ackedMessage(w)
	case w.owed:
		q.owing--
		q.pool.freeWork(w)
		if !q.ended && q.err == nil {
			q.advance() // a read may have waited for this slot
		}
	default:
		q.saying--
		q.pool.freeWork(w)
	}
}

// ackedMessage finishes an outgoing message that the other side has.
func (q *Queue) ackedMessage(w *work) {
	if w.copied {
		q.copies--
		if cap(w.room) > smallCopy {
			q.copied -= cap(w.room)
		}
	}
	if !w.given {
		q.unacked.Remove(&w.unacked)
	}
	switch {
	case w.d == nil:
		q.pool.freeWork(w)
	case w.head.Kind != wire.SegmentReadRequest:
		w.status = nic.StatusSuccess
		q.settle()
	}
}
