package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExactlyOnce(t *testing.T) {
	var c ExactlyOnce[int]
	require.NoError(t, c.Check())
	c.Sent(1)
	c.Sent(2)
	require.Error(t, c.Delivered(3), "never sent")
	require.NoError(t, c.Delivered(1))
	require.Error(t, c.Delivered(1), "twice")
	require.Error(t, c.Check(), "2 is missing")
	require.NoError(t, c.Delivered(2))
	require.NoError(t, c.Check())
}

func TestInOrder(t *testing.T) {
	var c InOrder[string]
	require.NoError(t, c.Delivered("a", 0))
	require.NoError(t, c.Delivered("b", 5))
	require.NoError(t, c.Delivered("a", 2))
	require.Error(t, c.Delivered("a", 1))
	require.Error(t, c.Delivered("b", 5))
}

func TestBuffers(t *testing.T) {
	var c Buffers
	a, b := make([]byte, 8), make([]byte, 8)
	c.Hold("a", a)
	c.Hold("b", b)
	require.NoError(t, c.Check())
	b[3] = 1
	require.ErrorContains(t, c.Check(), "buffer b was touched at byte 3")
	require.NoError(t, c.Release("a"))
	require.Error(t, c.Release("a"))
	require.Error(t, c.Release("b"))
}

func TestCredits(t *testing.T) {
	c := Credits{Total: 8}
	require.NoError(t, c.Check(3, 5))
	require.Error(t, c.Check(3, 4))
	require.Error(t, c.Check(-1, 9))
}

// TestCanary proves that the checkers detect errors: every one of them must
// report a protocol without retransmission over a lossy, duplicating, reordering
// link.
func TestCanary(t *testing.T) {
	w := New(Options{Seed: 1, Link: LinkOptions{DelayMean: time.Millisecond, Loss: 0.2, Duplicate: 0.2, Reorder: 0.5}})
	var once ExactlyOnce[uint64]
	var order InOrder[string]
	var twice, disorder int
	for i := range uint64(100) {
		once.Sent(i)
		w.Link("a", "b").Send(func(bool) {
			if once.Delivered(i) != nil {
				twice++
			}
			if order.Delivered("a", i) != nil {
				disorder++
			}
		})
	}
	err := w.RunUntil(func() bool { return once.Missing() == 0 })
	require.ErrorIs(t, err, ErrNotLive, "a lost message is a liveness failure")
	require.Error(t, once.Check())
	assert.Positive(t, twice)
	assert.Positive(t, disorder)
}
