package reliable

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// rounds plays rounds of one window each with the same round trip and share of
// loss, as long as fn returns true.
func rounds(d *Delay, now *time.Duration, n int, trip func() time.Duration, loss func() float64) {
	for range n {
		*now += trip()
		window := d.Window()
		lost := int(float64(window) * loss())
		d.OnLoss(*now, lost)
		d.OnAck(*now, Ack{Bytes: window - lost, RoundTrip: trip(), SentAt: *now, Flying: window, Limited: true})
	}
}

func steady(trip time.Duration) func() time.Duration { return func() time.Duration { return trip } }
func losing(share float64) func() float64            { return func() float64 { return share } }

func newStarted() (*Delay, *time.Duration) {
	d, now := NewDelay(DelayOptions{WindowMax: 1 << 20}), new(time.Duration)
	d.OnSend(0, 1000, 1000)
	return d, now
}

func TestDelayDoublesThenFindsTheQueue(t *testing.T) {
	d, now := newStarted()
	rounds(d, now, 3, steady(100*us), losing(0))
	assert.Equal(t, 8*WindowFirst, d.Window())
	rounds(d, now, 1, steady(300*us), losing(0))
	assert.Less(t, d.Window(), 8*WindowFirst, "doubling has ended")
	assert.False(t, d.slow)
	was := d.Window()
	rounds(d, now, 200, steady(300*us), losing(0))
	assert.Less(t, d.Window(), was/8, "a queue that stays")
	assert.GreaterOrEqual(t, d.Window(), WindowSegmentsMin*1000)
}

func TestDelayDoesNotGrowAWindowThatIsNotUsed(t *testing.T) {
	d, now := newStarted()
	for range 100 {
		*now += 100 * us
		d.OnAck(*now, Ack{Bytes: 1000, RoundTrip: 100 * us, SentAt: *now, Flying: 1000})
	}
	assert.Equal(t, WindowFirst, d.Window())
}

func TestDelayDrainsNowAndThen(t *testing.T) {
	d, now := newStarted()
	rounds(d, now, 20, steady(100*us), losing(0))
	d.shrink(1)
	least, most := d.Window(), 0
	for range 2 * drainRoundsMax {
		rounds(d, now, 1, steady(100*us), losing(0))
		least, most = min(least, d.Window()), max(most, d.Window())
	}
	assert.LessOrEqual(t, least, most/3)
	assert.Equal(t, most, d.Window(), "the window is given back")
}

func TestDelayStartsAnewAfterSilence(t *testing.T) {
	d, now := newStarted()
	rounds(d, now, 4, steady(100*us), losing(0))
	was := d.Window()
	d.OnTimeout(*now)
	d.OnTimeout(*now)
	assert.Equal(t, WindowSegmentsMin*1000, d.Window())
	rounds(d, now, 30, steady(100*us), losing(0))
	assert.Greater(t, d.Window(), was/3)
}

// Loss that does not depend on the window is a bad path: the window stays.
func TestHeavyLossOfABadPathIsTolerated(t *testing.T) {
	for _, share := range []float64{0.01, 0.05, 0.15, 0.3, 0.45} {
		d, now := newStarted()
		d.shrink(3)
		was := d.Window()
		rounds(d, now, 400, steady(100*us), losing(share))
		assert.GreaterOrEqual(t, d.Window(), was, "%g", share)
	}
}

// Loss that comes from exceeding a small buffer stops once the window fits the
// buffer.
func TestHeavyLossOfAFullBufferShrinksTheWindow(t *testing.T) {
	const holds = 100_000
	d, now := newStarted()
	d.shrink(8)
	beyond := func() float64 { return max(0, 1-holds/float64(d.Window())) }
	rounds(d, now, 100, steady(100*us), beyond)
	lost, n := 0.0, 400
	for range n {
		rounds(d, now, 1, steady(100*us), beyond)
		lost += beyond() / float64(n)
	}
	assert.Less(t, lost, heavyShare)
	assert.InDelta(t, holds, d.Window(), holds/2)
}

func TestLeastForgets(t *testing.T) {
	var l least
	for now := time.Duration(0); now < 3*LeastAfter; now += time.Second {
		trip := 200 * us
		if now == time.Second {
			trip = 100 * us
		}
		l.add(now, trip)
		if now == LeastAfter-time.Second {
			assert.Equal(t, 100*us, l.trip)
		}
	}
	assert.Equal(t, 200*us, l.trip)
}

func TestPacerKeepsThePace(t *testing.T) {
	const rate, window, size = 1_000_000, 100_000, 1000
	var p pacer
	now, sent := time.Second, 0
	for now < 3*time.Second {
		for n := p.room(now, rate, window, size); n > 0; n-- {
			p.spend(now, rate, window, size, size)
			sent += size
		}
		assert.Zero(t, p.room(now, rate, window, size))
		assert.True(t, p.waiting)
		now = p.at
	}
	assert.InDelta(t, 2*rate, sent, float64(burst(window, size)))
	assert.Positive(t, p.room(0, 0, window, size), "no pace, no wait")
}

// TestWindow: a lane sends until its window is full, and always one segment.
func TestWindow(t *testing.T) {
	l := New[item](Options{Congestion: fixed(5000), SegmentBytes: 1000})
	for range 5 {
		assert.Positive(t, l.Room(0))
		l.Send(0, 0, 1000)
	}
	assert.Zero(t, l.Room(0))
	small := New[item](Options{Congestion: fixed(10), SegmentBytes: 1000})
	assert.Equal(t, 1, small.Room(0), "one segment always goes")
}

// fixed is a window that never changes, in bytes: no congestion control.
type fixed int

func (f fixed) Window() int                    { return int(f) }
func (f fixed) Rate() int64                    { return 0 }
func (f fixed) OnSend(time.Duration, int, int) {}
func (f fixed) OnAck(time.Duration, Ack)       {}
func (f fixed) OnLoss(time.Duration, int)      {}
func (f fixed) OnTimeout(time.Duration)        {}
