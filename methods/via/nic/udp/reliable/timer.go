package reliable

import "time"

// Deadline is when Expire must be called, or AckDue or Room asked again; ok is
// false while nothing is waited for. It may lie in the past.
func (l *Lane[S]) Deadline() (at time.Duration, ok bool) {
	sooner := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if l.recv.pending > 0 {
		sooner(l.recv.dueAt)
	}
	if l.pace.waiting {
		sooner(l.pace.at)
	}
	if l.first == l.next {
		if len(l.ring.records) > ringMin {
			sooner(l.idleSince + l.opts.IdleAfter)
		}
		return at, ok
	}
	if l.reorder.at > 0 {
		sooner(l.reorder.at)
	}
	if l.flying.n > 0 {
		sooner(l.timeoutAt())
	}
	if l.mayGiveUp() {
		sooner(l.heardAt + l.opts.GiveUp)
	}
	return at, ok
}

// timeoutAt is when the oldest transmission has been waited for long enough; not
// before what is late counts as lost.
func (l *Lane[S]) timeoutAt() time.Duration {
	from := max(l.ring.at(l.flying.front).at, l.probeAt)
	return max(from+l.rtt.timeout(&l.opts, l.probes), l.reorder.at)
}

// mayGiveUp: the peer was asked often enough, or nothing can be sent.
func (l *Lane[S]) mayGiveUp() bool { return l.probes >= probesMin || l.flying.n == 0 }

// Expire does what is due at this time. Call it after the packets that arrived
// were taken, so that a late call does not mistake answers that wait in a socket
// for silence. It returns ErrSilent once the peer has been silent for the
// configured time; the connection is of no more use then.
func (l *Lane[S]) Expire(now time.Duration) error {
	l.pace.expire(now)
	if l.first == l.next {
		if now >= l.idleSince+l.opts.IdleAfter {
			l.ring.shrink()
		}
		return nil
	}
	if l.reorder.at > 0 && now >= l.reorder.at {
		if bytes := l.findLost(now); bytes > 0 && l.opts.Congestion != nil {
			l.opts.Congestion.OnLoss(now, bytes)
		}
	}
	if l.mayGiveUp() && now >= l.heardAt+l.opts.GiveUp {
		return ErrSilent
	}
	if l.flying.n > 0 && now >= l.timeoutAt() {
		l.timeout(now)
	}
	return nil
}

// timeout sends one segment again: the newest first, whose ack tells of all
// losses before it; when that did not help, the oldest.
func (l *Lane[S]) timeout(now time.Duration) {
	seq := l.flying.back
	if l.probes > 0 {
		seq = l.flying.front
	} else {
		l.probeFirst = now
	}
	l.probes++
	l.probeAt = now
	e := l.ring.at(seq)
	l.lose(seq, e)
	e.probe = true
	addFront(&l.ring, &l.lost, seq, e)
	l.stats.Timeouts++
	if l.probes > 1 && l.opts.Congestion != nil {
		l.opts.Congestion.OnTimeout(now)
	}
}
