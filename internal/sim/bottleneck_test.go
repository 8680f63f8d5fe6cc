package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestBottleneck(t *testing.T) {
	w := New(Options{})
	b := w.NewBottleneck(Rate{BytesPerSecond: 1000, QueueBytes: 250})
	pass := func(bytes int) time.Duration {
		at, ok := b.Pass(bytes)
		assert.True(t, ok)
		return at
	}
	assert.Equal(t, 100*time.Millisecond, pass(100))
	assert.Equal(t, 200*time.Millisecond, pass(100), "behind the first")
	assert.Equal(t, 200, b.Queued())
	_, ok := b.Pass(51)
	assert.False(t, ok, "no room")
	assert.Equal(t, 250*time.Millisecond, pass(50), "but for a smaller one")
	w.RunFor(150 * time.Millisecond)
	assert.Equal(t, 150, b.Queued(), "one has left, and half of another")
	assert.Equal(t, 100*time.Millisecond, b.Delay())
	b.SetRate(Rate{BytesPerSecond: 100})
	assert.Equal(t, 100*time.Millisecond, b.Delay(), "what waits leaves as it was told")
	assert.Equal(t, 100, b.Rate().BytesPerSecond)
	w.RunFor(time.Minute)
	assert.Zero(t, b.Queued())
	assert.Equal(t, w.Now()+10*time.Millisecond, pass(1), "the time in which nothing waited is not made good")
	passed, dropped := b.Counts()
	assert.Equal(t, [2]uint64{4, 1}, [2]uint64{passed, dropped})

	free := w.NewBottleneck(Rate{})
	at, ok := free.Pass(1 << 30)
	assert.True(t, ok)
	assert.Equal(t, w.Now(), at, "no limit")
}
