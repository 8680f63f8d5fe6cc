package reliable

import "time"

// Deadline is when Expire must be called, or AckDue or Room checked again; ok is
// false if nothing is pending. It may be in the past.
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

// timeoutAt is when the oldest transmission times out; it is not before late
// transmissions count as lost.
func (l *Lane[S]) timeoutAt() time.Duration {
	from := max(l.ring.at(l.flying.front).at, l.probeAt)
	return max(from+l.rtt.timeout(&l.opts, l.probes), l.reorder.at)
}

// mayGiveUp reports whether the peer was probed often enough, or nothing can be
// sent.
func (l *Lane[S]) mayGiveUp() bool { return l.probes >= probesMin || l.flying.n == 0 }

// Expire runs due timers. Call it after the packets that arrived were handled, so
// that a late call does not mistake answers that wait in a socket for silence. It
// returns ErrSilent once the peer has been silent for the configured time; the
// connection is then unusable.
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

// timeout retransmits one segment: first the newest, whose ack shows all losses
// before it; if that did not help, the oldest.
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
