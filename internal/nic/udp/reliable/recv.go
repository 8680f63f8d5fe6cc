package reliable

import (
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// receiver is the receiving half of a lane: the segments that arrived, and the ack
// that is due.
type receiver struct {
	window
	pending  int           // packets to be acked; 0: no ack is due
	dueAt    time.Duration // when the ack is due, if pending > 0
	stamp    uint32        // of the newest packet that wants one
	at       time.Duration // when that packet arrived
	arriving Seq           // the segment that the caller is handling
	latest   Seq           // the segment that arrived last
	highWas  Seq           // window.high before that
	untold   bool          // the latest ack had no room for all ranges: the next one must
}

func (r *receiver) init(first Seq) { r.window = window{next: first, high: first} }

// want records that a packet must be acked, at once or after the usual delay.
func (r *receiver) want(now time.Duration, t *wire.Transport, o *Options, atOnce bool) {
	r.pending++
	r.stamp, r.at = t.Stamp, now
	switch {
	case atOnce || r.pending >= o.AckEvery:
		if r.pending == 1 || now < r.dueAt {
			r.dueAt = now
		}
	case r.pending == 1:
		r.dueAt = now + o.AckDelay
	}
}

// Arrive handles the arrival of a packet, and of its first segment, if it has any;
// ArriveNext handles the others. If they report true the segment is new, and the caller
// takes it, or calls Refuse before any other method of the lane.
func (l *Lane[S]) Arrive(now time.Duration, t *wire.Transport) (fresh bool) {
	r := &l.recv
	answer := t.Flags&wire.FlagAnswer != 0
	if t.Flags&wire.FlagSegment == 0 {
		if answer {
			r.want(now, t, &l.opts, true)
		}
		return false
	}
	r.arriving = Seq(t.Seq)
	fresh, due, atOnce := l.arrive()
	if due {
		r.want(now, t, &l.opts, answer || atOnce)
	}
	return fresh
}

// ArriveNext handles the arrival of the next segment of a packet. They are numbered
// consecutively.
func (l *Lane[S]) ArriveNext(now time.Duration) (fresh bool) {
	r := &l.recv
	r.arriving++
	fresh, due, atOnce := l.arrive()
	if due && atOnce {
		r.dueAt = min(r.dueAt, now)
	}
	return fresh
}

// arrive records the arrival of a segment. due reports whether it must be acked, and
// atOnce whether that must not wait.
func (l *Lane[S]) arrive() (fresh, due, atOnce bool) {
	r := &l.recv
	r.settle()
	seq := r.arriving
	switch d := seq.Sub(r.next); {
	case d >= WindowSegments:
		l.stats.Beyond++
		return false, false, false
	case d < 0 || r.has(seq):
		// The peer does not know that it arrived: ack it at once.
		l.stats.Duplicates++
		return false, true, true
	}
	l.stats.Arrived++
	// Opening or filling a gap must be acked at once; arrivals behind an existing gap
	// need not.
	atOnce = seq != r.high
	r.latest, r.highWas = seq, r.high
	r.set(seq)
	return true, true, atOnce
}

// Refuse undoes the arrival that Arrive has just reported: there is no room for the
// segment now, and it will be retransmitted.
func (l *Lane[S]) Refuse() {
	l.recv.forget(l.recv.latest, l.recv.highWas)
	l.stats.Arrived--
	l.stats.Refused++
}

// AckDue reports whether an ack must be sent now, in a packet of its own if there
// is no other.
func (l *Lane[S]) AckDue(now time.Duration) bool {
	return l.recv.pending > 0 && now >= l.recv.dueAt
}

// FillAck writes the fields of every packet into t: the ack, the stamp, and whether an
// answer is requested. Seq and FlagSegment are the caller's, which must have cleared t
// before.
func (l *Lane[S]) FillAck(now time.Duration, t *wire.Transport) {
	l.FillAckWithin(now, t, wire.RangesMax)
}

// FillAckWithin is FillAck for a packet that has room for a limited number of ranges.
// If there are more, an ack stays due, or becomes due at once: the peer would take
// segments that are missing from the ranges for lost, because it learns of later ones.
func (l *Lane[S]) FillAckWithin(now time.Duration, t *wire.Transport, ranges int) {
	r := &l.recv
	r.settle()
	t.Flags |= wire.FlagAck
	t.Ack, t.Stamp, t.N = uint32(r.next), stamp(now), 0
	if l.ask {
		t.Flags |= wire.FlagAnswer
		l.ask = false
	}
	switch {
	case r.pending == 0, ranges <= 0 && r.next != r.high:
		return
	case r.untold && r.pending == 1 && ranges < wire.RangesMax:
		return // nothing arrived since the last ack, which had at least as much room
	}
	n, all := r.ranges(t.Ranges[:min(ranges, wire.RangesMax)], r.latest)
	t.N = uint8(n)
	t.Flags |= wire.FlagEcho
	t.Echo = r.stamp + stamp(now-r.at)
	l.stats.AcksSent++
	r.pending, r.untold = 0, !all && ranges < wire.RangesMax
	if r.untold {
		r.pending, r.dueAt = 1, now
	}
}
