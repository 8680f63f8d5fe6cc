package bmi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

func TestCancelReceive(t *testing.T) {
	a, b := newWorld(t).pair()
	buf := []byte{1, 2, 3}
	p, err := a.ctx.PostRecv(a.peer, 1, buf, "u")
	require.NoError(t, err)
	require.NoError(t, a.ctx.Cancel(p.Op))
	require.NoError(t, a.ctx.Cancel(p.Op), "it did not return yet")
	got := a.wait(p, nil)
	assert.ErrorIs(t, got.Err, bmi.ErrCancelled)
	assert.Equal(t, "u", got.User)
	assert.ErrorIs(t, a.ctx.Cancel(p.Op), bmi.ErrUnknownOp)

	b.wait(b.ctx.PostSend(b.peer, 1, []byte{9}, nil))
	other := make([]byte, 1)
	require.NoError(t, a.wait(a.ctx.PostRecv(a.peer, 1, other, nil)).Err)
	assert.Equal(t, []byte{1, 2, 3}, buf, "the buffer was the caller's")
	assert.Equal(t, []byte{9}, other)
}

func TestCancelSend(t *testing.T) {
	w := newWorld(t)
	w.opt.EagerSize = 1
	a, b := w.pair()
	first, err := a.ctx.PostSend(a.peer, 1, []byte("first"), nil)
	require.NoError(t, err)
	_, err = a.ctx.PostSend(a.peer, 1, []byte("second"), nil)
	require.NoError(t, err)
	require.NoError(t, a.ctx.Cancel(first.Op))
	assert.ErrorIs(t, a.wait(first, nil).Err, bmi.ErrCancelled)
	buf := make([]byte, 8)
	got := b.wait(b.ctx.PostRecv(b.peer, 1, buf, nil))
	require.NoError(t, got.Err)
	assert.Equal(t, "second", string(buf[:got.Size]))
}

func TestContextClose(t *testing.T) {
	a, b := newWorld(t).pair()
	for range 3 {
		_, err := a.ctx.PostRecv(a.peer, 1, nil, nil)
		require.NoError(t, err)
	}
	b.wait(b.ctx.PostSend(b.peer, 1, nil, nil))
	require.NoError(t, a.ctx.Close())
	require.NoError(t, a.ctx.Close(), "twice is fine")
	assert.Zero(t, a.ep.Stats().Methods[0].PostedRecvs)

	out := make([]bmi.Completion, 1)
	_, err := a.ctx.TestContext(out, bmi.Forever)
	assert.ErrorIs(t, err, bmi.ErrClosed)
	_, _, err = a.ctx.Test(1, bmi.Forever)
	assert.ErrorIs(t, err, bmi.ErrClosed)
	_, err = a.ctx.PostSend(a.peer, 1, nil, nil)
	assert.ErrorIs(t, err, bmi.ErrClosed)
	assert.ErrorIs(t, a.ctx.Cancel(1), bmi.ErrClosed)

	// The place of the closed context is used again, not its operations.
	c, err := a.ep.OpenContext()
	require.NoError(t, err)
	n, err := c.TestContext(out, 0)
	require.NoError(t, err)
	assert.Zero(t, n)
	_, err = a.ctx.TestContext(out, 0)
	assert.ErrorIs(t, err, bmi.ErrClosed)
}

func TestContextCloseWakesWaiters(t *testing.T) {
	a, _ := newWorld(t).pair()
	_, err := a.ctx.PostRecv(a.peer, 1, nil, nil)
	require.NoError(t, err)
	done := make(chan error)
	for range 3 {
		go func() {
			_, err := a.ctx.TestContext(make([]bmi.Completion, 1), bmi.Forever)
			done <- err
		}()
	}
	require.Eventually(t, func() bool { return a.ep.Stats().Endpoint.Sleeps >= 3 }, limit, time.Millisecond)
	require.NoError(t, a.ctx.Close())
	for range 3 {
		assert.ErrorIs(t, <-done, bmi.ErrClosed)
	}
}
