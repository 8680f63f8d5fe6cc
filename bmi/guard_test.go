package bmi_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// TestGuardIsTheEngineLock: while it is held, nothing else calls the method.
func TestGuardIsTheEngineLock(t *testing.T) {
	f := &fake{}
	s := f.open(t, bmi.Config{Manual: true})
	g := s.ep.Guard()
	require.True(t, g.Guards(s.peer))
	require.False(t, g.Guards(bmi.Addr{}))
	g.Lock()
	assert.False(t, g.TryLock())
	posted := make(chan error)
	go func() {
		_, err := s.ctx.PostRecv(s.peer, 1, nil, nil)
		posted <- err
	}()
	select {
	case <-posted:
		require.Fail(t, "posted while the lock is held")
	default:
	}
	require.Empty(t, f.posted)
	g.Unlock()
	require.NoError(t, <-posted)

	no, yes := false, true
	require.False(t, g.LockUnless(&yes))
	require.True(t, g.LockUnless(&no))
	assert.False(t, g.TryLock())
	g.Unlock()
	require.True(t, g.TryLock())
	g.Unlock()
}

// TestGuardBeforeMethods: a Guard of an endpoint without methods is a lock, and guards no address.
func TestGuardBeforeMethods(t *testing.T) {
	e, err := bmi.Open(t.Context(), bmi.Config{})
	require.NoError(t, err)
	g := e.Guard()
	g.Lock()
	assert.False(t, g.TryLock())
	g.Unlock()
	assert.False(t, g.Guards(bmi.Addr{}))
	require.NoError(t, e.Close())
}

// TestGuardSendsNow: the holder of the lock sends as SendUnexpectedNow does, but only to its method.
func TestGuardSendsNow(t *testing.T) {
	asked := 0
	f := &fake{nowBytes: 5, now: func(head, body []byte) bool {
		asked++
		return string(head)+string(body) == "now"
	}}
	s := f.open(t, bmi.Config{})
	_, err := s.ctx.PostRecv(s.peer, 1, nil, nil)
	require.NoError(t, err)
	g := s.ep.Guard()
	now := func(to bmi.Addr, class bmi.Class, body string) bool {
		g.Lock()
		defer g.Unlock()
		return g.SendUnexpectedNow(s.ctx, to, class, 7, []byte("n"), []byte(body))
	}
	assert.True(t, now(s.peer, 0, "ow"))
	assert.False(t, now(s.peer, 0, "ever"))
	assert.Equal(t, 2, asked)
	assert.False(t, now(s.peer, 0, "ever after"), "longer than what the method takes")
	assert.False(t, now(s.peer, 1, "ow"), "a class, and the method has none")
	assert.False(t, now(bmi.Addr{}, 0, "ow"), "to nobody")
	assert.False(t, now((&fake{}).open(t, bmi.Config{}).peer, 0, "ow"), "an address of another endpoint")
	assert.Equal(t, 2, asked)
}

// TestGuardTestUntil: the wait begins within the hold, which it ends, and is one like any other.
func TestGuardTestUntil(t *testing.T) {
	w := newWorld(t)
	a, b := w.pair()
	var seen atomic.Int64
	require.NoError(t, b.ep.Handle(1, func(bmi.Message) { seen.Add(1) }))
	g := b.ep.Guard()
	var out [1]bmi.Completion
	for i := range int64(100) {
		g.Lock()
		go func() { a.wait(a.ctx.PostSendUnexpected(a.peer, 1, 0, nil, nil)) }()
		n, err := g.TestUntil(b.ctx, func() bool { return seen.Load() > i }, out[:])
		require.NoError(t, err)
		require.Zero(t, n)
		require.Equal(t, i+1, seen.Load())
		require.True(t, g.TryLock(), "it is still held")
		g.Unlock()
	}
	g.Lock()
	_, err := g.TestUntil(b.ctx, func() bool { return false }, nil)
	require.ErrorIs(t, err, bmi.ErrInvalid)
	require.NoError(t, b.ctx.Close())
	g.Lock()
	_, err = g.TestUntil(b.ctx, func() bool { return false }, out[:])
	require.ErrorIs(t, err, bmi.ErrClosed)
}
