package reliable

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sim"
)

// pair is two parties that send to each other over two links.
type pair struct {
	w    *sim.World
	a, b *party
}

func newPair(seed uint64, opts Options, there, back sim.LinkOptions) *pair {
	w := sim.New(sim.Options{Seed: seed})
	w.SetLink("a", "b", there)
	w.SetLink("b", "a", back)
	// The numbers wrap early in every run.
	oa, ob := opts, opts
	oa.FirstSend, oa.FirstRecv = ^Seq(0)-50, ^Seq(0)>>1-50
	ob.FirstSend, ob.FirstRecv = oa.FirstRecv, oa.FirstSend
	if opts.Congestion != nil {
		oa.Congestion, ob.Congestion = NewDelay(DelayOptions{}), NewDelay(DelayOptions{})
	}
	p := &pair{w: w, a: newParty(w, oa, newModel()), b: newParty(w, ob, newModel())}
	join(p.a, p.b, linkWay{w.Link("a", "b")}, linkWay{w.Link("b", "a")})
	return p
}

// start gives both parties segments to send.
func (p *pair) start(a, b int) {
	p.a.supply, p.b.supply = a, b
	p.a.pump()
	p.b.pump()
}

// settled: everything was sent and acked.
func (p *pair) settled() bool {
	return p.a.supply == 0 && p.b.supply == 0 && p.a.lane.outstanding() == 0 && p.b.lane.outstanding() == 0
}

// run runs until everything is settled, and checks both lanes after every event.
func (p *pair) run(t *testing.T) {
	t.Helper()
	require.NoError(t, p.w.RunUntil(func() bool {
		for _, l := range []*Lane[item]{p.a.lane, p.b.lane} {
			checkLane(t, l)
			if l.first != l.next && l.ring.at(l.first).state == acked {
				t.Errorf("the window begins with %v, which is acked", l.first)
			}
		}
		return p.settled() || t.Failed() || p.a.err != nil || p.b.err != nil
	}))
	p.check(t)
}

func (p *pair) check(t *testing.T) {
	t.Helper()
	require.NoError(t, p.a.err)
	require.NoError(t, p.b.err)
	assert.Empty(t, p.a.model.wrong, "from a")
	assert.Empty(t, p.b.model.wrong, "from b")
	assert.NoError(t, p.a.model.once.Check(), "from a")
	assert.NoError(t, p.b.model.once.Check(), "from b")
}

// checkLane checks what must hold between any two calls.
func checkLane(t *testing.T, l *Lane[item]) {
	t.Helper()
	n, bytes, counted := l.outstanding(), 0, map[state]int{}
	for seq := l.first; seq != l.next; seq++ {
		e := l.ring.at(seq)
		counted[e.state]++
		if e.state == flying {
			bytes += int(e.bytes)
		}
	}
	ok := n <= WindowSegments && n <= len(l.ring.records) && len(l.ring.records) <= WindowSegments &&
		bytes == l.bytes && counted[flying] == l.flying.n && counted[lost] == l.lost.n &&
		l.recv.high.Sub(l.recv.next) <= WindowSegments
	if !ok {
		t.Errorf("lane is not consistent: %d outstanding, %v, flying %+v, lost %+v, %d and %d bytes, ring %d, receiver %v to %v",
			n, counted, l.flying, l.lost, bytes, l.bytes, len(l.ring.records), l.recv.next, l.recv.high)
	}
}

// Over any link, both streams arrive completely and once, and both sides keep the
// rules.
func TestEverythingArrivesOnceOverAnyLink(t *testing.T) {
	for _, c := range []struct {
		name string
		opts Options
	}{
		{"window of segments", Options{}},
		{"delay", Options{Congestion: NewDelay(DelayOptions{})}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sim.Run(t, func(t *testing.T, seed uint64) {
				p := newPair(seed, c.opts, sim.LinkOptions{}, sim.LinkOptions{})
				rng := p.w.Rand()
				there, back := sim.RandomLink(rng), sim.RandomLink(rng)
				p.w.SetLink("a", "b", there)
				p.w.SetLink("b", "a", back)
				for _, side := range []*party{p.a, p.b} {
					side.size = func() int { return 40 + rng.IntN(1200) }
					if rng.IntN(3) == 0 {
						side.refuse = 0.2
					}
				}
				p.start(1+rng.IntN(1500), rng.IntN(300))
				for range rng.IntN(4) {
					at := p.w.Between(0, 20*time.Millisecond)
					p.w.At(at, func() { p.cut(rng.IntN(3)) })
					p.w.At(at+p.w.Between(0, 2*time.Second), p.w.HealAll)
				}
				p.run(t)
				if t.Failed() {
					t.Logf("links %+v and %+v", there, back)
				}
			})
		})
	}
}

// cut makes a partition, in one direction or both.
func (p *pair) cut(ways int) {
	switch ways {
	case 0:
		p.w.CutOneWay("a", "b")
	case 1:
		p.w.CutOneWay("b", "a")
	default:
		p.w.Cut("a", "b")
	}
}

// outstanding returns the number of segments between the oldest that is not acked
// and the next one.
func (l *Lane[S]) outstanding() int { return l.next.Sub(l.first) }
