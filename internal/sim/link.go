package sim

import (
	"math/rand/v2"
	"time"
)

// LinkOptions describe one direction between two places. The zero value delivers
// everything at once, in order.
type LinkOptions struct {
	// DelayMin is the shortest time that a packet takes.
	DelayMin time.Duration
	// DelayMean is the average time. The part above DelayMin is drawn from an
	// exponential distribution, so that a few packets take much longer.
	DelayMean time.Duration
	// Loss is the probability that a packet never arrives.
	Loss float64
	// Duplicate is the probability that a packet arrives twice.
	Duplicate float64
	// Reorder is the probability that a packet may overtake, or be overtaken by,
	// its neighbours.
	Reorder float64
	// Corrupt is the probability that a packet arrives damaged.
	Corrupt float64
	// Capacity is the number of packets that may be under way; 0 means no
	// limit. A full link drops one of those under way at random.
	Capacity int
}

// RandomLink draws a link between perfect and terrible, but enough gets through
// for a protocol with retransmission to make progress.
func RandomLink(rng *rand.Rand) LinkOptions {
	chance := func(p, max float64) float64 {
		if rng.Float64() < p {
			return rng.Float64() * max
		}
		return 0
	}
	o := LinkOptions{
		DelayMin:  time.Duration(rng.Int64N(int64(50 * time.Microsecond))),
		Loss:      chance(0.5, 0.3),
		Duplicate: chance(0.5, 0.2),
		Reorder:   chance(0.5, 0.5),
		Corrupt:   chance(0.3, 0.1),
	}
	o.DelayMean = o.DelayMin + time.Duration(rng.Int64N(int64(500*time.Microsecond)))
	if rng.Float64() < 0.2 {
		o.Capacity = 4 + rng.IntN(60)
	}
	return o
}

type linkKey struct{ from, to string }

// A Link is one direction between two places.
type Link struct {
	w     *World
	key   linkKey
	opts  LinkOptions
	last  time.Duration // arrival of the latest packet that keeps the order
	under []*Event      // packets under way, when Capacity bounds them
}

// Link returns the link from one place to another, made on first use.
func (w *World) Link(from, to string) *Link {
	key := linkKey{from, to}
	l := w.links[key]
	if l == nil {
		l = &Link{w: w, key: key, opts: w.opts.Link}
		w.links[key] = l
	}
	return l
}

// SetLink sets the options of the link from one place to another.
func (w *World) SetLink(from, to string, opts LinkOptions) { w.Link(from, to).opts = opts }

// Options returns the options of the link.
func (l *Link) Options() LinkOptions { return l.opts }

// Up reports whether the link is not cut by a partition.
func (l *Link) Up() bool { return !l.w.cuts[l.key] }

// Delay draws the travel time of one packet.
func (l *Link) Delay() time.Duration {
	d := l.opts.DelayMin
	if extra := l.opts.DelayMean - l.opts.DelayMin; extra > 0 {
		d += time.Duration(l.w.rng.ExpFloat64() * float64(extra))
	}
	return d
}

// Send sends one packet. deliver runs when it arrives, never within Send: twice
// if the link duplicated it, not at all if the link lost it or a partition cuts
// the link at that time. corrupt says that the content must be treated as
// damaged.
func (l *Link) Send(deliver func(corrupt bool)) {
	copies := 1
	if l.w.Chance(l.opts.Duplicate) {
		copies = 2
	}
	for range copies {
		if l.w.Chance(l.opts.Loss) {
			continue
		}
		l.one(l.w.Chance(l.opts.Corrupt), deliver)
	}
}

func (l *Link) one(corrupt bool, deliver func(corrupt bool)) {
	at := l.w.now + l.Delay()
	if !l.w.Chance(l.opts.Reorder) {
		at = max(at, l.last)
		l.last = at
	}
	l.makeRoom()
	var e *Event
	e = l.w.At(at, func() {
		l.forget(e)
		if l.Up() {
			deliver(corrupt)
		}
	})
	if l.opts.Capacity > 0 {
		l.under = append(l.under, e)
	}
}

// makeRoom drops a random packet of a full link.
func (l *Link) makeRoom() {
	if l.opts.Capacity == 0 || len(l.under) < l.opts.Capacity {
		return
	}
	victim := l.under[l.w.rng.IntN(len(l.under))]
	l.w.Cancel(victim)
	l.forget(victim)
}

func (l *Link) forget(e *Event) {
	for i, u := range l.under {
		if u == e {
			l.under = append(l.under[:i], l.under[i+1:]...)
			return
		}
	}
}

// Cut partitions two places from each other, in both directions.
func (w *World) Cut(a, b string) {
	w.CutOneWay(a, b)
	w.CutOneWay(b, a)
}

// CutOneWay stops everything from one place to another; the opposite direction
// stays open.
func (w *World) CutOneWay(from, to string) { w.cuts[linkKey{from, to}] = true }

// Heal undoes the cuts between two places.
func (w *World) Heal(a, b string) {
	delete(w.cuts, linkKey{a, b})
	delete(w.cuts, linkKey{b, a})
}

// HealAll undoes every cut.
func (w *World) HealAll() { clear(w.cuts) }
