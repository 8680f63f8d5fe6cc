package bmi_test

import (
	"context"
	"encoding/binary"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

func TestBlockingSendRecv(t *testing.T) {
	a, b := newWorld(t).pair()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	go func() { assert.NoError(t, a.ctx.Send(ctx, a.peer, 1, make([]byte, 100_000))) }()
	buf := make([]byte, 100_000)
	n, err := b.ctx.Recv(ctx, b.peer, 1, buf)
	require.NoError(t, err)
	assert.Equal(t, 100_000, n)

	require.NoError(t, a.ctx.SendUnexpected(ctx, a.peer, 3, 1, []byte("x")))
	u := b.take()
	assert.Equal(t, "x", string(u.Data))

	_, err = b.ctx.Recv(ctx, bmi.Addr{}, 1, nil)
	assert.ErrorIs(t, err, bmi.ErrInvalid)
	go func() { assert.NoError(t, a.ctx.Send(ctx, a.peer, 1, []byte("too long"))) }()
	n, err = b.ctx.Recv(ctx, b.peer, 1, nil)
	assert.ErrorIs(t, err, bmi.ErrTruncated)
	assert.Equal(t, 8, n)
}

func TestBlockingFailureWithinThePost(t *testing.T) {
	w := newWorld(t)
	s := w.side(w.open(""), "nobody")
	assert.ErrorIs(t, s.ctx.Send(context.Background(), s.peer, 1, nil), bmi.ErrUnreachable)
	_, err := s.ctx.Call(context.Background(), s.peer, 0, 1, nil, nil)
	assert.ErrorIs(t, err, bmi.ErrUnreachable)
	assert.Zero(t, s.ep.Stats().Methods[0].PostedRecvs, "the receive for the answer is cancelled")
}

func TestBlockingEndsWithItsContext(t *testing.T) {
	w := newWorld(t)
	w.opt.EagerSize = 1
	a, b := w.pair()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { _, err := a.ctx.Recv(ctx, a.peer, 1, nil); done <- err }()
	go func() { done <- a.ctx.Send(ctx, a.peer, 1, make([]byte, 10)) }()
	go func() { _, err := a.ctx.Call(ctx, a.peer, 0, 2, nil, nil); done <- err }()
	require.Eventually(t, func() bool { return a.ep.Stats().Endpoint.Sleeps >= 3 }, limit, time.Millisecond)
	cancel()
	for range 3 {
		err := <-done
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorIs(t, err, bmi.ErrCancelled)
	}
	_, err := a.ctx.Recv(ctx, a.peer, 1, nil)
	assert.ErrorIs(t, err, context.Canceled, "nothing is posted")
	_ = b
}

func TestBlockingWaitsForRoom(t *testing.T) {
	w := newWorld(t)
	w.cfg.Limits.PendingOps = 1
	a, b := w.pair()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	full, err := a.ctx.PostRecv(a.peer, 1, nil, nil)
	require.NoError(t, err)
	short, stop := context.WithTimeout(ctx, time.Millisecond)
	defer stop()
	assert.ErrorIs(t, a.ctx.Send(short, a.peer, 1, nil), context.DeadlineExceeded)

	done := make(chan error)
	go func() { done <- a.ctx.Send(ctx, a.peer, 1, nil) }()
	b.wait(b.ctx.PostSend(b.peer, 1, nil, nil))
	a.wait(full, nil)
	assert.NoError(t, <-done)
}

// Helpers and Test calls share a context, and neither sees the operations of the
// other.
func TestBlockingDoesNotSteal(t *testing.T) {
	a, b := newWorld(t).pair()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	const n = 500
	var all sync.WaitGroup
	all.Go(func() {
		out := make([]bmi.Completion, 4)
		for range n {
			p, err := a.ctx.PostRecv(a.peer, 2, make([]byte, 1), "posted")
			if !assert.NoError(t, err) {
				return
			}
			if p.Done {
				continue
			}
			m, err := a.ctx.TestContext(out, limit)
			if !assert.NoError(t, err) || !assert.Equal(t, 1, m) {
				return
			}
			assert.Equal(t, "posted", out[0].User)
		}
	})
	all.Go(func() {
		for range n {
			_, err := a.ctx.Recv(ctx, a.peer, 1, make([]byte, 1))
			assert.NoError(t, err)
		}
	})
	all.Go(func() {
		for range n {
			assert.NoError(t, b.ctx.Send(ctx, b.peer, 1, []byte{1}))
			assert.NoError(t, b.ctx.Send(ctx, b.peer, 2, []byte{2}))
		}
	})
	done := make(chan bool)
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatal("hung")
	}
}

// A server in a handler, and many goroutines that call it over one context.
func TestCall(t *testing.T) {
	a, b := newWorld(t).pair()
	require.NoError(t, b.ep.Handle(1, func(m bmi.Message) {
		reply := make([]byte, 4)
		binary.LittleEndian.PutUint32(reply, 2*binary.LittleEndian.Uint32(m.Data))
		p, err := b.ctx.PostSend(m.From, m.Tag, reply, nil)
		assert.NoError(t, err)
		assert.True(t, p.Done)
	}))
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			var request, reply [4]byte
			for i := range 100 {
				x := uint32(g*1000 + i)
				binary.LittleEndian.PutUint32(request[:], x)
				n, err := a.ctx.Call(ctx, a.peer, 1, bmi.Tag(g), request[:], reply[:])
				if !assert.NoError(t, err) {
					return
				}
				assert.Equal(t, 4, n)
				assert.Equal(t, 2*x, binary.LittleEndian.Uint32(reply[:]))
			}
		})
	}
	all.Wait()
}

func TestBlockingNeedsABackground(t *testing.T) {
	w := newWorld(t)
	w.cfg.Manual = true
	a, _ := w.pair()
	assert.ErrorIs(t, a.ctx.Send(context.Background(), a.peer, 1, nil), bmi.ErrNotSupported)
}

func TestBlockingAndContextClose(t *testing.T) {
	a, _ := newWorld(t).pair()
	done := make(chan error)
	go func() { _, err := a.ctx.Recv(context.Background(), a.peer, 1, nil); done <- err }()
	require.Eventually(t, func() bool { return a.ep.Stats().Methods[0].PostedRecvs == 1 }, limit, time.Millisecond)
	require.NoError(t, a.ctx.Close())
	assert.ErrorIs(t, <-done, bmi.ErrCancelled)
	_, err := a.ctx.Recv(context.Background(), a.peer, 1, nil)
	assert.ErrorIs(t, err, bmi.ErrClosed)
}
