package bmi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

func TestIDsOfOthers(t *testing.T) {
	a, b := newWorld(t).pair()
	other, err := a.ep.OpenContext()
	require.NoError(t, err)
	p, err := a.ctx.PostRecv(a.peer, 1, nil, nil)
	require.NoError(t, err)
	require.NotZero(t, p.Op)

	_, _, err = other.Test(p.Op, 0)
	assert.ErrorIs(t, err, bmi.ErrUnknownOp, "of another context")
	_, ok, err := a.ctx.Test(p.Op, time.Millisecond)
	assert.NoError(t, err)
	assert.False(t, ok)
	b.wait(b.ctx.PostSend(b.peer, 1, nil, nil))
	a.wait(p, nil)

	_, err = other.TestSome([]bmi.OpID{p.Op}, make([]bmi.Completion, 1), bmi.Forever)
	assert.ErrorIs(t, err, bmi.ErrUnknownOp, "of a context that posted nothing")
	for name, id := range map[string]bmi.OpID{
		"returned before": p.Op, "zero": 0, "future": p.Op + 5, "no such method": 1 << 63, "no such slot": p.Op + 1<<50,
	} {
		_, _, err = a.ctx.Test(id, 0)
		assert.ErrorIs(t, err, bmi.ErrUnknownOp, name)
		assert.ErrorIs(t, a.ctx.Cancel(id), bmi.ErrUnknownOp, name)
		if id != 0 {
			_, err = a.ctx.TestSome([]bmi.OpID{id}, make([]bmi.Completion, 1), bmi.Forever)
			assert.ErrorIs(t, err, bmi.ErrUnknownOp, name)
		}
	}
}

func TestTestSome(t *testing.T) {
	a, b := newWorld(t).pair()
	ops := make([]bmi.OpID, 5)
	for i := 1; i < len(ops); i++ { // ops[0] stays 0 and is skipped
		p, err := a.ctx.PostRecv(a.peer, bmi.Tag(i), nil, i)
		require.NoError(t, err)
		ops[i] = p.Op
	}
	out := make([]bmi.Completion, 2)
	n, err := a.ctx.TestSome(ops, out, time.Millisecond)
	require.NoError(t, err)
	assert.Zero(t, n)

	for _, tag := range []bmi.Tag{4, 2, 1, 3} {
		b.wait(b.ctx.PostSend(b.peer, tag, nil, nil))
	}
	var users []any
	for some := []bmi.OpID{ops[1], ops[2]}; len(users) < 2; { // in one call or in two, as they arrive
		n, err = a.ctx.TestSome(some, out, limit)
		require.NoError(t, err)
		require.Positive(t, n)
		for _, c := range out[:n] {
			users = append(users, c.User)
			some[c.User.(int)-1] = 0
		}
	}
	assert.ElementsMatch(t, []any{1, 2}, users)

	// The two returned ids are an error only if there is nothing to return.
	n, err = a.ctx.TestSome(ops, out[:1], limit)
	require.NoError(t, err)
	require.Equal(t, 1, n, "no more than there is room for")
	n, err = a.ctx.TestSome(ops, out, limit)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = a.ctx.TestSome(ops, out, limit)
	assert.ErrorIs(t, err, bmi.ErrUnknownOp)

	n, err = a.ctx.TestSome(make([]bmi.OpID, 3), out, bmi.Forever)
	assert.NoError(t, err)
	assert.Zero(t, n, "nothing to wait for")
}

func TestContextsDoNotSeeEachOther(t *testing.T) {
	a, b := newWorld(t).pair()
	other, err := a.ep.OpenContext()
	require.NoError(t, err)
	mine, err := a.ctx.PostRecv(a.peer, 1, nil, nil)
	require.NoError(t, err)
	theirs, err := other.PostRecv(a.peer, 2, nil, nil)
	require.NoError(t, err)
	b.wait(b.ctx.PostSend(b.peer, 1, nil, nil))
	b.wait(b.ctx.PostSend(b.peer, 2, nil, nil))

	out := make([]bmi.Completion, 4)
	n, err := other.TestContext(out, limit)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	assert.Equal(t, theirs.Op, out[0].Op)
	n, err = a.ctx.TestContext(out, limit)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	assert.Equal(t, mine.Op, out[0].Op)
}

func TestNoRoomForResults(t *testing.T) {
	a, _ := newWorld(t).pair()
	_, err := a.ctx.TestContext(nil, 0)
	assert.ErrorIs(t, err, bmi.ErrInvalid)
	_, err = a.ctx.TestSome([]bmi.OpID{1}, nil, 0)
	assert.ErrorIs(t, err, bmi.ErrInvalid)
	_, err = a.ep.TestUnexpected(nil, 0)
	assert.ErrorIs(t, err, bmi.ErrInvalid)
}

func TestCompletionsInOrder(t *testing.T) {
	a, b := newWorld(t).pair()
	for i := range 10 {
		_, err := a.ctx.PostRecv(a.peer, bmi.Tag(i), nil, i)
		require.NoError(t, err)
	}
	for i := range 10 {
		b.wait(b.ctx.PostSend(b.peer, bmi.Tag(i), nil, nil))
	}
	out := make([]bmi.Completion, 3)
	for got := 0; got < 10; {
		n, err := a.ctx.TestContext(out, limit)
		require.NoError(t, err)
		for _, c := range out[:n] {
			assert.Equal(t, got, c.User)
			got++
		}
	}
}

func TestWaitEnds(t *testing.T) {
	for name, spin := range map[string]time.Duration{"spinning": 0, "not spinning": -1} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.cfg.SpinMax = spin
			a, _ := w.pair()
			p, err := a.ctx.PostRecv(a.peer, 1, nil, nil)
			require.NoError(t, err)
			for _, wait := range []time.Duration{0, time.Microsecond, 20 * time.Millisecond} {
				start := time.Now()
				_, ok, err := a.ctx.Test(p.Op, wait)
				require.NoError(t, err)
				assert.False(t, ok)
				assert.GreaterOrEqual(t, time.Since(start), wait)
			}
		})
	}
}

// A receive that another goroutine cancels wakes the one that sleeps on it.
func TestCancelWakesTheWaiter(t *testing.T) {
	a, _ := newWorld(t).pair()
	p, err := a.ctx.PostRecv(a.peer, 1, nil, nil)
	require.NoError(t, err)
	done := make(chan error)
	before := a.ep.Stats().Endpoint.Sleeps
	go func() {
		c, ok, err := a.ctx.Test(p.Op, limit)
		if err == nil && ok {
			err = c.Err
		}
		done <- err
	}()
	require.Eventually(t, func() bool { return a.ep.Stats().Endpoint.Sleeps > before }, limit, time.Millisecond)
	require.NoError(t, a.ctx.Cancel(p.Op))
	assert.ErrorIs(t, <-done, bmi.ErrCancelled)
}
