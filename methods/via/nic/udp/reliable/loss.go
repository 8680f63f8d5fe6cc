package reliable

import "time"

// How losses are found (after RFC 8985, RACK): the lane numbers its
// transmissions. When one has arrived, whatever was transmitted before it and is
// not acked is lost, at once as long as the path keeps the order; so a lost
// retransmission is found like a lost segment, after one round trip. When it turns
// out that the path does not keep the order, transmissions get time to be late.

// reordering is how late a transmission may be before it counts as lost.
type reordering struct {
	steps int           // 0: not at all; else in quarters of the smallest round trip
	until time.Duration // when steps goes down, unless something is late again
	late  bool          // something was late since calm looked
	at    time.Duration // when what is late counts as lost; 0: nothing is late
}

const (
	reorderStepsMax  = 8  // then a transmission may be late by two round trips
	reorderCalmTrips = 64 // so many round trips without anything late lower the steps
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

// judge learns from the ack of a segment which transmission arrived, and whether
// another one was in vain. The echo tells them apart: the packet that made the
// ack was sent before the retransmission, or not.
func (l *Lane[S]) judge(e *record[S]) {
	switch {
	case e.sends == 1:
		l.newest = max(l.newest, e.order)
		if e.state == lost {
			l.reorder.late = true
			l.stats.Late++
		}
	case e.state == lost:
		// An earlier transmission arrived after all, or its ack was lost:
		// nothing is known about the order.
	default:
		l.judgeResent(e)
	}
}

// judgeResent is judge for a segment that was sent more than once.
func (l *Lane[S]) judgeResent(e *record[S]) {
	switch after := l.echo - e.at.Truncate(granularity); {
	case !l.echoed:
	case after < 0:
		l.stats.Spurious++
		l.reorder.late = l.reorder.late || !e.probed
	case l.reorder.steps > 0 && after <= l.opts.AckDelay:
		// The echo has the time in it that the ack was held, so the packet
		// that made the ack may have been sent before the retransmission.
		// Where the order is kept that does not matter: what else could
		// have arrived?
	default:
		// That packet may be any of those of the same microsecond.
		l.newest = max(l.newest, e.burst)
	}
}

// findLost moves what is lost from flying to lost, and returns how many bytes
// that is.
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

// lose takes a segment out of flying; the caller puts it into lost.
func (l *Lane[S]) lose(seq Seq, e *record[S]) {
	remove(&l.ring, &l.flying, seq, e)
	l.bytes -= int(e.bytes)
	e.state = lost
}
