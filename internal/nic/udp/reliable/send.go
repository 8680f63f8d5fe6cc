package reliable

import (
	"math"
	"time"
)

// Room is how many new segments may be sent now. It is 0 while lost segments must be
// retransmitted first. If only the pace forbids more, Deadline says when to ask
// again; otherwise ask after the next ack.
func (l *Lane[S]) Room(now time.Duration) int {
	if l.lost.n > 0 {
		return 0
	}
	n := WindowSegments - l.next.Sub(l.first)
	if n <= 0 || l.opts.Congestion == nil {
		return n
	}
	return min(n, l.allowed(now))
}

// allowed is how many segments congestion control allows now.
func (l *Lane[S]) allowed(now time.Duration) int {
	c, size := l.opts.Congestion, l.opts.SegmentBytes
	n := (c.Window() - l.bytes) / size
	if n <= 0 {
		if l.bytes > 0 {
			return 0
		}
		n = 1 // a segment larger than the window must move as well
	}
	return min(n, l.pace.room(now, c.Rate(), c.Window(), size))
}

// Send records that a new segment is sent now and numbers it. bytes is its size on
// the wire, for congestion control. There must be Room, at least by WindowSegments.
func (l *Lane[S]) Send(now time.Duration, s S, bytes int) Seq {
	seq := l.next
	if seq.Sub(l.first) >= WindowSegments {
		panic("reliable: Send without Room")
	}
	if seq == l.first {
		l.heardAt, l.probeAt = now, now // the wait begins
	}
	l.ring.makeRoom(l.first, seq)
	e := l.ring.at(seq)
	*e = record[S]{segment: s, bytes: int32(bytes)}
	l.next++
	l.transmit(now, seq, e)
	l.stats.Sent++
	return seq
}

// Losses is the number of segments that are to be retransmitted.
func (l *Lane[S]) Losses() int { return l.lost.n }

// Lost returns the next segment to be retransmitted, if there is one and congestion
// control allows it now. It returns the same segment until Resent. The pointer is
// valid until the next call.
func (l *Lane[S]) Lost(now time.Duration) (seq Seq, s *S, ok bool) {
	if l.lost.n == 0 {
		return 0, nil, false
	}
	seq = l.lost.front
	e := l.ring.at(seq)
	if !e.probe && l.opts.Congestion != nil && l.allowed(now) == 0 {
		return 0, nil, false
	}
	return seq, &e.segment, true
}

// Resent records that the segment returned by Lost is sent now.
func (l *Lane[S]) Resent(now time.Duration, seq Seq) {
	if !seq.In(l.first, l.next.Sub(l.first)) || l.ring.at(seq).state != lost {
		panic("reliable: Resent of a segment that is not lost")
	}
	e := l.ring.at(seq)
	remove(&l.ring, &l.lost, seq, e)
	if e.probe {
		l.ask, e.probe, e.probed = true, false, true
	}
	l.transmit(now, seq, e)
	l.stats.Resent++
}

// Ask makes the next packet request an answer at once: an operation waits for the
// ack of its segment, and no packet of the peer would carry the ack.
func (l *Lane[S]) Ask() { l.ask = true }

// transmit does what first transmissions and retransmissions have in common.
func (l *Lane[S]) transmit(now time.Duration, seq Seq, e *record[S]) {
	l.order++
	if at := stamp(now); at != l.burstAt || l.burst == 0 {
		l.burst, l.burstAt = l.order, at
	}
	e.at, e.order, e.burst, e.state = now, l.order, l.burst, flying
	if e.sends < math.MaxUint16 {
		e.sends++
	}
	add(&l.ring, &l.flying, seq, e)
	l.bytes += int(e.bytes)
	c := l.opts.Congestion
	if c == nil {
		return
	}
	c.OnSend(now, int(e.bytes), l.bytes)
	l.pace.spend(now, c.Rate(), c.Window(), l.opts.SegmentBytes, int(e.bytes))
	// The last packet of a small window requests an answer at once: the peer's ack
	// delay would be a large part of the round trip.
	if w := c.Window(); w <= askSegments*l.opts.SegmentBytes && l.bytes+l.opts.SegmentBytes > w {
		l.ask = true
	}
}

// askSegments is the largest window whose last segment requests an answer.
const askSegments = 8
