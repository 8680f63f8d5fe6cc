package reliable

import (
	"time"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// TakeAck handles the ack of a packet of the peer, if it has one. It calls fn once for
// each newly acked segment, oldest first within one packet except for those acked out
// of order before. The segment is gone when fn returns, and fn must not call the lane.
// If the packet acks a segment that was never sent, TakeAck does nothing and returns
// ErrImpossible.
func (l *Lane[S]) TakeAck(now time.Duration, t *wire.Transport, fn func(*S)) error {
	if t.Flags&wire.FlagAck == 0 {
		return nil
	}
	ack := Seq(t.Ack)
	if l.next.Before(ack) || t.N > 0 && l.next.Before(Seq(t.Ranges[t.N-1].End)) {
		l.stats.Impossible++
		return ErrImpossible
	}
	l.stats.AcksTaken++
	if ack.Before(l.first) {
		return nil // a later ack has arrived before it, with at least the same content
	}
	a := l.measure(now, t)
	a.Flying = l.bytes
	l.ackTo(ack, &a, fn)
	l.ackRanges(t, &a, fn)
	if a.Bytes > 0 || a.RoundTrip > 0 {
		l.heardAt = now
	}
	if a.Bytes > 0 {
		l.probes, l.probeAt = 0, 0
		if l.first == l.next {
			l.idleSince = now
		}
	}
	l.reorder.calm(now, l.rtt.smooth)
	l.afterAck(now, &a)
	return nil
}

// afterAck finds lost segments and informs congestion control.
func (l *Lane[S]) afterAck(now time.Duration, a *Ack) {
	bytes := l.findLost(now)
	c := l.opts.Congestion
	if c == nil {
		return
	}
	if bytes > 0 {
		c.OnLoss(now, bytes)
	}
	if a.Bytes > 0 || a.RoundTrip > 0 {
		a.Limited = a.Flying+2*l.opts.SegmentBytes > c.Window()
		c.OnAck(now, *a)
	}
}

// measure measures a round trip from the echo of a packet, if the echo is newer than
// all before. Echoes of packets that were overtaken would give too long a time. Stamps
// wrap, so they are converted to times of the local clock before they are compared.
func (l *Lane[S]) measure(now time.Duration, t *wire.Transport) (a Ack) {
	if t.Flags&wire.FlagEcho == 0 {
		return a
	}
	trip := time.Duration(int32(stamp(now)-t.Echo)) * granularity
	echo := now.Truncate(granularity) - trip
	switch {
	case trip < 0 || trip > roundTripMax:
		l.stats.BadEchoes++
		return a
	case l.echoed && echo <= l.echo:
		return a
	}
	l.echo, l.echoed = echo, true
	a.RoundTrip = max(trip, granularity)
	l.rtt.measure(a.RoundTrip)
	l.trips.Add(a.RoundTrip)
	return a
}

// ackTo acks every segment before seq and moves the window.
func (l *Lane[S]) ackTo(seq Seq, a *Ack, fn func(*S)) {
	for l.first != seq {
		l.ackOne(l.first, a, fn)
		l.first++
	}
	// Remembered ranges must not get so old that they name new segments.
	if l.seenN > 0 && !l.first.Before(Seq(l.seen[l.seenN-1].End)) {
		l.seenN = 0
	}
}

// ackRanges acks segments that arrived out of order. Acks repeat ranges many times;
// ranges of the previous ack are not walked through again.
func (l *Lane[S]) ackRanges(t *wire.Transport, a *Ack, fn func(*S)) {
	if t.N == 0 {
		return
	}
	i := 0
	for _, r := range t.Ranges[:t.N] {
		seq, end := Seq(r.First), Seq(r.End)
		for seq != end {
			for i < l.seenN && !seq.Before(Seq(l.seen[i].End)) {
				i++
			}
			stop := end
			if i < l.seenN {
				if known := Seq(l.seen[i].First); !seq.Before(known) {
					seq = earlier(Seq(l.seen[i].End), end)
					continue
				} else {
					stop = earlier(known, end)
				}
			}
			for ; seq != stop; seq++ {
				l.ackOne(seq, a, fn)
			}
		}
	}
	l.seenN = copy(l.seen[:], t.Ranges[:t.N])
}

func earlier(s, t Seq) Seq {
	if s.Before(t) {
		return s
	}
	return t
}

// ackOne acks a segment unless it was acked before.
func (l *Lane[S]) ackOne(seq Seq, a *Ack, fn func(*S)) {
	e := l.ring.at(seq)
	if e.state == acked {
		return
	}
	if e.state == flying {
		remove(&l.ring, &l.flying, seq, e)
		l.bytes -= int(e.bytes)
	} else {
		remove(&l.ring, &l.lost, seq, e)
	}
	l.learnWhich(e)
	e.state = acked
	a.Bytes += int(e.bytes)
	if e.at > a.SentAt {
		a.SentAt = e.at
	}
	fn(&e.segment)
	var gone S
	e.segment = gone
}
