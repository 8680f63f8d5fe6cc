package reliable

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/wire"
)

// A lane that was silent for so long that the stamps have come half around since, or
// all the way, measures as before and recognises a retransmission that was needed.
func TestEchoesAreBelievedAfterAnySilence(t *testing.T) {
	for _, silence := range []time.Duration{
		time.Minute, math.MaxInt32 * us, 40 * time.Minute, 70 * time.Minute, math.MaxUint32 * us, 100 * time.Hour,
	} {
		l := New[item](Options{})
		sendN(l, time.Second, 1)
		require.NoError(t, l.TakeAck(time.Second+100*us, echoing(ack(1), time.Second), nothing))
		now := time.Second + silence
		sendN(l, now, 3)
		require.NoError(t, l.TakeAck(now+200*us, echoing(ack(2), now), nothing))
		assert.EqualValues(t, 2, l.Trips().Count(), "after %v", silence)
		at, ok := l.Deadline()
		require.True(t, ok)
		require.NoError(t, l.Expire(at))
		assert.Equal(t, []item{3}, lostNow(l, at))
		require.NoError(t, l.TakeAck(at+200*us, echoing(ack(2, wire.Range{First: 3, End: 4}), at), nothing))
		assert.EqualValues(t, 0, l.Stats().Spurious)
		assert.Equal(t, []item{2}, lostNow(l, at+200*us), "what was sent before the one that arrived")
	}
}

// A peer whose echoes give no measurement, on a path that loses much, leaves no round
// trip to compute with; the window stays a number.
func TestDelayWithoutRoundTrips(t *testing.T) {
	d, now := newStarted()
	for range 2000 {
		*now += 100 * us
		window := d.Window()
		lost := window / 3
		d.OnLoss(*now, lost)
		d.OnAck(*now, Ack{Bytes: window - lost, SentAt: *now, Flying: window, Limited: true})
		require.GreaterOrEqual(t, d.Window(), WindowSegmentsMin*1000)
		require.LessOrEqual(t, d.Window(), 1<<20)
		require.Zero(t, d.Rate())
	}
}
