package reliable

import (
	"time"

	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/wire"
)

// receiver is the receiving half of a lane: which segments arrived, and whether
// the peer is to be told.
type receiver struct {
	window
	pending int           // packets that want an ack; 0: none is due
	dueAt   time.Duration // when the ack is due, if pending > 0
	stamp   uint32        // of the newest packet that wants one
	at      time.Duration // when that arrived
	latest  Seq           // the segment that arrived last
	highWas Seq           // window.high before it did
	untold  bool          // the latest ack had no room for all ranges: the one that is due has
}

func (r *receiver) init(first Seq) { r.window = window{next: first, high: first} }

// want notes that a packet wants an ack, at once or after the usual delay.
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

// Arrive notes that a packet has arrived. If it reports true the packet has a
// segment that has not arrived before, and the caller takes it, or calls Refuse
// before anything else of the lane.
func (l *Lane[S]) Arrive(now time.Duration, t *wire.Transport) (fresh bool) {
	r := &l.recv
	answer := t.Flags&wire.FlagAnswer != 0
	if t.Flags&wire.FlagSegment == 0 {
		if answer {
			r.want(now, t, &l.opts, true)
		}
		return false
	}
	r.settle()
	seq := Seq(t.Seq)
	switch d := seq.Sub(r.next); {
	case d >= WindowSegments:
		l.stats.Beyond++
		return false
	case d < 0 || r.has(seq):
		// The peer does not know that it arrived: tell it at once.
		l.stats.Duplicates++
		r.want(now, t, &l.opts, true)
		return false
	}
	l.stats.Arrived++
	inOrder := seq == r.high
	r.latest, r.highWas = seq, r.high
	r.set(seq)
	// What opens a gap or fills one is news; what goes on behind a gap is not.
	r.want(now, t, &l.opts, answer || !inOrder)
	return true
}

// Refuse takes back the arrival that Arrive has just reported: the segment has
// no place here now and will be sent again.
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

// FillAck writes into t what every packet carries: the ack, the stamp, and
// whether an answer is asked for. Seq and FlagSegment are the caller's, who has
// cleared t before.
func (l *Lane[S]) FillAck(now time.Duration, t *wire.Transport) {
	l.FillAckWithin(now, t, wire.RangesMax)
}

// FillAckWithin is FillAck for a packet that has room for so many ranges only. If
// there are more to be told an ack stays due, or is so at once: what the peer does not
// hear of it takes for lost, because it hears of what came later.
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
		return // nothing came since the ack that had no more room than this one
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
