package reliable

import "time"

// Loss detection follows RFC 8985 (RACK). The lane numbers its transmissions. When
// one has arrived, every earlier transmission that is not acked is lost, at once
// as long as the path preserves the order. So a lost retransmission is found like
// a lost segment, after one round trip. If the path turns out to reorder packets,
// transmissions are allowed to be late.

// reordering is how late a transmission may be before it counts as lost.
type reordering struct {
	steps int           // 0: no delay; else in quarters of the smallest round trip
	until time.Duration // when steps decreases, unless something is late again
	late  bool          // something was late since the last call of calm
	at    time.Duration // when the late transmission counts as lost; 0: none is late
}

const (
	reorderStepsMax  = 8  // a transmission may then be late by two round trips
	reorderCalmTrips = 64 // after this many round trips without anything late, steps decreases
)

// allow is how late a transmission may be.
func (r *reordering) allow(rtt *roundTrip) time.Duration {
	return time.Duration(r.steps) * rtt.least / 4
}

// calm adjusts the steps after an ack.
func (r *reordering) calm(now, trip time.Duration) {
	switch {
	case r.late:
		r.steps = min(r.steps+1, reorderStepsMax)
		r.until = now + reorderCalmTrips*trip
		r.late = false
	case r.steps > 0 && now >= r.until:
		r.steps--
		r.until = now + reorderCalmTrips*trip
	}
}

// learnWhich learns from the ack of a segment which transmission arrived, and whether
// another one was unnecessary. The echo tells: the packet that caused the ack was
// sent before the retransmission, or not.
func (l *Lane[S]) learnWhich(e *record[S]) {
	switch {
	case e.sends == 1:
		l.newest = max(l.newest, e.order)
		if e.state == lost {
			l.reorder.late = true
			l.stats.Late++
		}
	case e.state == lost:
		// An earlier transmission arrived after all, or its ack was lost: the
		// order is unknown.
	default:
		l.learnWhichResent(e)
	}
}

// learnWhichResent is judge for a segment that was sent more than once.
func (l *Lane[S]) learnWhichResent(e *record[S]) {
	switch after := l.echo - e.at.Truncate(granularity); {
	case !l.echoed:
	case after < 0:
		l.stats.Spurious++
		l.reorder.late = l.reorder.late || !e.probed
	case l.reorder.steps > 0 && after <= l.opts.AckDelay:
		// The echo includes the time for which the ack was held, so the packet
		// that caused the ack may have been sent before the retransmission. If the
		// path preserves the order that makes no difference.
	default:
		// Several packets may have been sent in that microsecond. The ack may belong to any of
		// them.
		l.newest = max(l.newest, e.burst)
	}
}

// findLost moves lost segments from flying to lost, and returns their size in
// bytes.
func (l *Lane[S]) findLost(now time.Duration) (bytes int) {
	l.reorder.at = 0
	allow := l.reorder.allow(&l.rtt)
	for l.flying.n > 0 {
		seq := l.flying.front
		e := l.ring.at(seq)
		if e.order >= l.newest {
			break
		}
		if allow > 0 {
			if at := e.at + l.rtt.latest + allow; at > now {
				l.reorder.at = at
				break
			}
		}
		bytes += int(e.bytes)
		l.lose(seq, e)
		add(&l.ring, &l.lost, seq, e)
		e.probed = false
		l.stats.Lost++
	}
	return bytes
}

// lose removes a segment from flying; the caller puts it into lost.
func (l *Lane[S]) lose(seq Seq, e *record[S]) {
	remove(&l.ring, &l.flying, seq, e)
	l.bytes -= int(e.bytes)
	e.state = lost
}
