package reliable

import (
	"math"
	"time"
)

// Delay is the default congestion control. It reacts mainly to delay, as Swift
// and TIMELY do, and to loss only if that helps against the loss (heavy.go):
//
//   - Once per round trip it takes the smallest of the round trips measured in
//     it; the smallest, because hosts add delays of their own to most.
//   - While that is less than Queue above the smallest ever, the window grows by
//     one segment, later by more, as long as the window is fully used.
//   - Once it is more, after a minimum number of measurements, the window shrinks
//     to what the path holds without a queue. All senders see the same delay,
//     shrink by the same share and grow by the same amount, which leads to equal
//     windows (Chiu and Jain 1989). As the queue empties each time, all of them
//     see the delay of the path without it.
//   - At first the window doubles every round trip, until a queue builds up.
//
// Swift: Kumar et al., SIGCOMM 2020. TIMELY: Mittal et al., SIGCOMM 2015.
type Delay struct {
	opts    DelayOptions
	window  float64
	segment float64
	smooth  time.Duration // of the round trips
	least   least
	slow    bool    // the window doubles
	until   float64 // where doubling ends at the latest
	round   round
	calm    int // rounds since the window shrank
	rounds  int // since the last drain
	drain   drain
	heavy   heavy
}

// DelayOptions describe a Delay. A zero field means its default.
type DelayOptions struct {
	// Queue is how much longer than the shortest a round trip may be before the
	// window shrinks. The default is QueueShare of the shortest, but at least
	// QueueMin.
	Queue time.Duration
	// WindowFirst, WindowMin and WindowMax are bytes. The window is always at
	// least WindowSegmentsMin segments.
	WindowFirst, WindowMin, WindowMax int
}

// Defaults and limits of Delay.
const (
	// QueueShare is a share of the shortest round trip, in percent.
	QueueShare = 50
	QueueMin   = 100 * time.Microsecond
	// LeastAfter is how long the shortest round trip is considered valid.
	LeastAfter = 10 * time.Second
	// WindowFirst, WindowMax: bytes.
	WindowFirst = 64 << 10
	WindowMax   = 64 << 20
	// WindowSegmentsMin is the smallest window. With two segments there is one
	// behind a lost one, which shows the loss.
	WindowSegmentsMin = 2
)

const (
	// shrinkTo is the share of the path's capacity that is kept when the window
	// shrinks, so that the queue empties. The window shrinks to no less than
	// shrinkMost of its size, because a long round trip may have other causes.
	shrinkTo   = 0.95
	shrinkMost = 0.5
	// shrinkTrips is how many round trips must be measured before the smallest of
	// them is taken as a sign of a queue. A small window measures one or two in a
	// round, and would otherwise shrink to nothing on a path with varying delay.
	shrinkTrips = 8
	// growthRounds is the number of rounds after which the growth increases by a
	// segment, up to growthMax.
	growthRounds = 8
	growthMax    = 64
	// drainRoundsMin is the number of rounds between two drains at first, and
	// drainRoundsMax the largest number later. drainTo is the share of the window
	// during a drain. A round trip counts as shorter if it is shorter by
	// 1/drainFound.
	drainRoundsMin = 16
	drainRoundsMax = 256
	drainTo        = 0.25
	drainFound     = 16
	// scaleSegments and scale: a window of up to scaleSegments may cause a queue
	// that is larger by scale, a very large window a smaller one.
	scaleSegments = 16
	scale         = 0.5
	// paceGain is the factor by which the pace exceeds window / round trip.
	paceGain = 2
)

// A round is about one round trip: it ends when a segment is acked that was sent
// after the round began.
type round struct {
	from    time.Duration
	trip    time.Duration // the smallest of the round; 0: none was measured
	trips   int           // number of measurements
	limited bool          // the window was fully used
	// Bytes acked, and found lost.
	acked, lost int
}

// A drain makes the window small for two rounds, so that a queue kept up by this
// sender empties and the shortest round trip can be measured. A sender that took
// a queue caused by others for the length of the path would leave them no share.
type drain struct {
	phase  int           // rounds until it ends; 0: no drain
	every  int           // rounds between two drains; 0: at once
	window float64       // the window before it
	least  time.Duration // the shortest round trip before it, or after the previous drain
}

// NewDelay makes the congestion control of one lane.
func NewDelay(opts DelayOptions) *Delay {
	opts.WindowFirst = orDefault(opts.WindowFirst, WindowFirst)
	opts.WindowMax = orDefault(opts.WindowMax, WindowMax)
	d := &Delay{opts: opts, slow: true, until: float64(opts.WindowMax), window: float64(opts.WindowFirst)}
	d.heavy.init()
	return d
}

// Window implements Congestion.
func (d *Delay) Window() int { return int(d.window) }

// Rate implements Congestion.
func (d *Delay) Rate() int64 {
	if d.smooth == 0 {
		return 0
	}
	return int64(paceGain * d.window / d.smooth.Seconds())
}

// OnSend implements Congestion.
func (d *Delay) OnSend(_ time.Duration, bytes, _ int) {
	if float64(bytes) > d.segment {
		d.segment = float64(bytes)
		d.set(d.window)
	}
}

// set changes the window within its limits.
func (d *Delay) set(window float64) {
	window = min(window, float64(d.opts.WindowMax))
	d.window = max(window, float64(d.opts.WindowMin), WindowSegmentsMin*d.segment)
}

// OnAck implements Congestion.
func (d *Delay) OnAck(now time.Duration, a Ack) {
	d.heavy.acked += a.Bytes
	d.round.acked += a.Bytes
	d.round.limited = d.round.limited || a.Limited
	if trip := a.RoundTrip; trip > 0 {
		d.least.add(now, trip)
		d.smooth = ewma(d.smooth, trip)
		d.round.trips++
		if d.round.trip == 0 || trip < d.round.trip {
			d.round.trip = trip
		}
	}
	if d.slow && a.Limited {
		d.set(d.window + float64(a.Bytes))
		d.slow = d.window < d.until
	}
	if a.Bytes > 0 && a.SentAt >= d.round.from {
		d.endRound(now)
	}
}

func ewma(smooth, trip time.Duration) time.Duration {
	if smooth == 0 {
		return trip
	}
	return smooth + (trip-smooth)/8
}

// queue is how much longer than the shortest a round trip may be. Small windows
// may cause a larger queue than large ones, so that the large ones shrink first;
// Swift does the same.
func (d *Delay) queue() time.Duration {
	limit := d.opts.Queue
	if limit <= 0 {
		limit = max(d.least.trip*QueueShare/100, QueueMin)
	}
	small := min(math.Sqrt(scaleSegments*d.segment/d.window), 1)
	return time.Duration(float64(limit) * (1 - scale + 2*scale*small))
}

// endRound makes the decision of each round trip.
func (d *Delay) endRound(now time.Duration) {
	r := d.round
	d.round = round{from: now}
	d.rounds++
	if d.drain.phase > 0 {
		d.drained()
		return
	}
	if d.mustDrain() {
		d.startDrain()
		return
	}
	if factor := d.heavy.endRound(d.window, max(d.segment, 1)); factor != 1 {
		d.shrink(factor)
		return
	}
	limit := d.queue()
	if d.slow {
		limit /= 2 // the window doubles before the next check
	}
	switch {
	case r.trip == 0:
	case r.trip > d.least.trip+limit && r.trips < shrinkTrips && !d.slow:
		d.round.trip, d.round.trips = r.trip, r.trips // the next round adds measurements
	case r.trip > d.least.trip+limit:
		d.shrink(max(shrinkTo*float64(d.least.trip)/float64(r.trip), shrinkMost))
	case r.limited && !d.slow && d.heavy.mayGrow(r.acked, r.lost):
		d.calm++
		d.set(d.window + d.segment*float64(min(1+d.calm/growthRounds, growthMax)))
	}
}

// shrink multiplies the window by factor; a factor above 1 undoes a shrink.
func (d *Delay) shrink(factor float64) {
	d.slow, d.calm = false, 0
	d.set(d.window * factor)
}

// mustDrain reports whether it is time to measure the shortest round trip. If a
// clearly shorter one was just found, another sender has just drained: joining at
// once lets all of them measure the path without a queue.
func (d *Delay) mustDrain() bool {
	if d.slow || d.least.trip == 0 { // or no round trip was measured yet
		return false
	}
	if d.least.trip < d.drain.least-d.drain.least/drainFound {
		d.drain.every = 0
	}
	return d.rounds >= d.drain.every
}

// startDrain makes the window small for two rounds.
func (d *Delay) startDrain() {
	d.rounds = 0
	d.drain.every = min(max(2*d.drain.every, drainRoundsMin), drainRoundsMax)
	d.drain.phase, d.drain.window, d.drain.least = 2, d.window, d.least.trip
	d.set(d.window * drainTo)
}

// drained ends a round of a drain. After the last one it restores the window, or
// less of it if the path turned out to be shorter.
func (d *Delay) drained() {
	if d.drain.phase--; d.drain.phase > 0 {
		return
	}
	was := d.drain.least
	d.set(d.drain.window * float64(d.least.trip) / float64(was))
	d.heavy.disturbed()
	if d.least.trip < was-was/drainFound {
		d.drain.every = drainRoundsMin // the queue may have been longer still
	}
	d.drain.least = d.least.trip
}

// OnLoss implements Congestion.
func (d *Delay) OnLoss(_ time.Duration, bytes int) {
	d.heavy.lost += bytes
	d.round.lost += bytes
}

// OnTimeout implements Congestion. The capacity of the path is unknown now, so
// the window doubles again up to half of what the path held.
func (d *Delay) OnTimeout(now time.Duration) {
	if !d.slow {
		d.until = d.window / 2
	}
	d.slow, d.calm = true, 0
	d.round, d.drain = round{from: now}, drain{}
	d.heavy.init()
	d.set(0)
}

// least is the smallest round trip of at least the last LeastAfter and at most
// twice that.
type least struct {
	trip      time.Duration // 0: none was measured
	this      time.Duration // of the present period
	from      time.Duration // when the present period began
	measuring bool
}

func (l *least) add(now, trip time.Duration) {
	switch {
	case !l.measuring:
		*l = least{trip: trip, this: trip, from: now, measuring: true}
	case now-l.from >= LeastAfter:
		l.trip, l.this, l.from = min(l.this, trip), trip, now
	default:
		l.this = min(l.this, trip)
		l.trip = min(l.trip, trip)
	}
}
