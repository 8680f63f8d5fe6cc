package bmi_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/race"
)

func TestUntilAHandlerRan(t *testing.T) {
	w := newWorld(t)
	a, b := w.pair()
	var seen atomic.Int64
	require.NoError(t, b.ep.Handle(1, func(m bmi.Message) { seen.Add(1) }))
	var out [1]bmi.Completion
	for i := range int64(200) {
		go func() {
			_, _ = a.ctx.PostSendUnexpected(a.peer, 1, 0, nil, nil)
		}()
		n, err := b.ctx.TestUntil(func() bool { return seen.Load() > i }, out[:], limit)
		require.NoError(t, err)
		require.Zero(t, n)
		require.Equal(t, i+1, seen.Load(), "returned for something else")
	}
}

// Waiters for different conditions, asleep together: each returns for its own.
func TestUntilNotified(t *testing.T) {
	w := newWorld(t)
	a, _ := w.pair()
	const waiters = 4
	var done [waiters]atomic.Bool
	returned := make(chan int, waiters)
	for i := range waiters {
		go func() {
			var out [1]bmi.Completion
			n, err := a.ctx.TestUntil(done[i].Load, out[:], limit)
			assert.NoError(t, err)
			assert.Zero(t, n)
			returned <- i
		}()
	}
	for i := range waiters {
		select {
		case early := <-returned:
			require.Fail(t, "nobody told it", "waiter %d", early)
		case <-time.After(5 * time.Millisecond):
		}
		done[i].Store(true)
		a.ctx.Notify()
		select {
		case got := <-returned:
			require.Equal(t, i, got)
		case <-time.After(limit):
			require.Fail(t, "not woken", "waiter %d", i)
		}
	}
}

func TestUntilReturnsCompletionsToo(t *testing.T) {
	w := newWorld(t)
	a, b := w.pair()
	buf := make([]byte, 10)
	p, err := b.ctx.PostRecv(b.peer, 1, buf, "mine")
	require.NoError(t, err)
	_, err = a.ctx.PostSend(a.peer, 1, make([]byte, 10), nil)
	require.NoError(t, err)
	out := make([]bmi.Completion, 2)
	n, err := b.ctx.TestUntil(func() bool { return false }, out, limit)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	assert.Equal(t, p.Op, out[0].Op)
	n, err = b.ctx.TestUntil(func() bool { return false }, out, time.Millisecond)
	require.NoError(t, err)
	assert.Zero(t, n, "the time is over")
	_, err = b.ctx.TestUntil(func() bool { return true }, nil, 0)
	assert.ErrorIs(t, err, bmi.ErrInvalid)
	if race.Enabled {
		return
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		var stack [2]bmi.Completion
		calls := 0 // without Notify the caller may sleep until its time is over
		_, _ = b.ctx.TestUntil(func() bool { calls++; return calls > 3 }, stack[:], time.Millisecond)
	}), "results and what is waited for may live on the stack")
}
