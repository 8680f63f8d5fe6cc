package bmi_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// No goroutine tests on one side, and the other side's operations still complete.
func TestProgressInTheBackground(t *testing.T) {
	for name, noSleeper := range map[string]bool{"sleeping": false, "on a timer": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.opt.NoSleeper, w.opt.EagerSize = noSleeper, 1
			a, b := w.pair()
			buf := make([]byte, 100)
			_, err := b.ctx.PostRecv(b.peer, 1, buf, nil)
			require.NoError(t, err)
			got := a.wait(a.ctx.PostSend(a.peer, 1, make([]byte, 100), nil))
			require.NoError(t, got.Err)
		})
	}
}

func TestTheBackgroundSleeps(t *testing.T) {
	f := &fake{}
	f.open(t, bmi.Config{})
	require.Eventually(t, f.asleep, limit, time.Millisecond)
	before := f.polled()
	f.host.Wake()
	require.Eventually(t, func() bool { return f.polled() > before && f.asleep() }, limit, time.Millisecond)
}

func TestTheBackgroundStepsBack(t *testing.T) {
	var ready atomic.Bool
	f := &fake{poll: func(f *fake) bool {
		if len(f.posted) == 0 || !ready.Load() {
			return false
		}
		f.complete(nil, nil)
		return true
	}}
	s := f.open(t, bmi.Config{})
	require.Eventually(t, f.asleep, limit, time.Millisecond)
	// The background goroutine sleeps without limit. A caller that wants to sleep
	// takes its place, and sleeps until its own time is over.
	p, err := s.ctx.PostRecv(s.peer, 1, nil, nil)
	require.NoError(t, err)
	done := make(chan bool, 1)
	go func() {
		_, ok, err := s.ctx.Test(p.Op, limit)
		done <- assert.NoError(t, err) && ok
	}()
	var slept time.Duration
	require.Eventually(t, func() bool { slept = f.limitedSleep(); return slept > 0 }, limit, time.Millisecond, "the caller slept itself")
	assert.LessOrEqual(t, slept, limit)
	ready.Store(true)
	f.host.Wake()
	assert.True(t, <-done)

	// And it comes back when the application leaves.
	ready.Store(false)
	require.Eventually(t, f.asleep, limit, time.Millisecond)
	p, err = s.ctx.PostRecv(s.peer, 1, nil, nil)
	require.NoError(t, err)
	ready.Store(true)
	f.host.Wake()
	require.NoError(t, s.wait(p, nil).Err)
}

// A sleeper wakes for a deadline that it knew, and for one that a post made
// while it slept.
func TestDeadlines(t *testing.T) {
	var at atomic.Int64 // 0: none
	due := make(chan time.Duration, 100)
	f := &fake{}
	f.next = func() (time.Duration, bool) { d := at.Load(); return time.Duration(d), d != 0 }
	f.poll = func(f *fake) bool {
		if d := at.Load(); d != 0 && f.clock() >= time.Duration(d) {
			at.Store(0)
			due <- f.clock() - time.Duration(d)
		}
		return false
	}
	f.post = func(f *fake, op *bmi.Op) {
		at.Store(int64(f.clock() + 5*time.Millisecond))
		op.Complete(0, nil)
	}
	s := f.open(t, bmi.Config{})
	require.Eventually(t, f.asleep, limit, time.Millisecond)
	_, err := s.ctx.PostSend(s.peer, 1, nil, nil)
	require.NoError(t, err)
	select {
	case late := <-due:
		assert.GreaterOrEqual(t, late, time.Duration(0))
	case <-time.After(limit):
		t.Fatal("overslept")
	}
}

// A method whose Arm always reports work, although there is none, does not use up
// a whole core.
func TestAMethodThatRefusesSleep(t *testing.T) {
	f := &fake{refuses: true}
	s := f.open(t, bmi.Config{})
	p, err := s.ctx.PostRecv(s.peer, 1, nil, nil)
	require.NoError(t, err)
	_, ok, err := s.ctx.Test(p.Op, 200*time.Millisecond)
	require.NoError(t, err)
	require.False(t, ok)
	assert.Less(t, f.polled(), 200_000)
}

func TestSeveralMethods(t *testing.T) {
	var ready atomic.Bool
	f := &fake{poll: func(f *fake) bool {
		if len(f.posted) == 0 || !ready.Load() {
			return false
		}
		f.complete(nil, nil)
		return true
	}}
	s := f.open(t, bmi.Config{})
	other, err := s.ep.Lookup("null://peer")
	require.NoError(t, err)
	out := make([]bmi.Completion, 4)

	// Null does not support sleeping, fake does; a completion of either ends a
	// wait for any.
	_, err = s.ctx.PostRecv(other, 1, make([]byte, 3), "null")
	require.NoError(t, err)
	n, err := s.ctx.TestContext(out, limit)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	assert.Equal(t, "null", out[0].User)

	p, err := s.ctx.PostRecv(s.peer, 1, nil, "fake")
	require.NoError(t, err)
	done := make(chan bmi.Completion)
	before := s.ep.Stats().Endpoint.Sleeps
	go func() { done <- s.wait(p, nil) }()
	require.Eventually(t, func() bool { return s.ep.Stats().Endpoint.Sleeps > before && f.asleep() }, limit, time.Millisecond)
	ready.Store(true)
	f.host.Wake()
	assert.Equal(t, "fake", (<-done).User)

	n, err = s.ctx.TestSome([]bmi.OpID{p.Op}, out, 0)
	assert.ErrorIs(t, err, bmi.ErrUnknownOp)
	assert.Zero(t, n)
}

// A caller asleep on the only method notices when another opens.
func TestAMethodOpensWhileSomebodySleeps(t *testing.T) {
	f := &fake{}
	s := f.open(t, bmi.Config{})
	done := make(chan error)
	out := make([]bmi.Completion, 1)
	before := s.ep.Stats().Endpoint.Sleeps
	go func() {
		_, err := s.ctx.TestContext(out, limit)
		done <- err
	}()
	require.Eventually(t, func() bool { return s.ep.Stats().Endpoint.Sleeps > before }, limit, time.Millisecond)
	other, err := s.ep.Lookup("null://peer")
	require.NoError(t, err)
	_, err = s.ctx.PostRecv(other, 1, nil, "null")
	require.NoError(t, err)
	require.NoError(t, <-done)
	assert.Equal(t, "null", out[0].User)
}

func TestManual(t *testing.T) {
	now := 5 * time.Second
	f := &fake{next: func() (time.Duration, bool) { return 7 * time.Second, true }}
	s := f.open(t, bmi.Config{Manual: true, Clock: func() time.Duration { return now }})
	p, err := s.ctx.PostRecv(s.peer, 1, nil, nil)
	require.NoError(t, err)
	_, ok, err := s.ctx.Test(p.Op, bmi.Forever)
	require.NoError(t, err)
	assert.False(t, ok, "it returns at once")
	assert.Equal(t, 1, f.polled(), "a Test call polls once")
	assert.Empty(t, f.sleeps)
	assert.Equal(t, now, f.clock())
	at, ok := s.ep.NextDeadline()
	assert.True(t, ok)
	assert.Equal(t, 7*time.Second, at)
}

func TestAContextThatCannotCancelInTime(t *testing.T) {
	f := &fake{cancel: func(*fake, *bmi.Op) {}}
	s := f.open(t, bmi.Config{Limits: bmi.Limits{CancelTimeMax: time.Millisecond}})
	_, err := s.ctx.PostRecv(s.peer, 1, nil, nil)
	require.NoError(t, err)
	assert.ErrorContains(t, s.ctx.Close(), "1 operations still hold their buffers")
}

func TestAMethodThatLeavesOperationsBehind(t *testing.T) {
	f := &fake{leaves: true}
	s := f.open(t, bmi.Config{})
	p, err := s.ctx.PostRecv(s.peer, 1, nil, nil)
	require.NoError(t, err)
	require.NoError(t, s.ep.Close())
	assert.ErrorIs(t, s.wait(p, nil).Err, bmi.ErrClosed)
}

func TestAMethodThatCompletesTwice(t *testing.T) {
	f := &fake{}
	f.post = func(f *fake, op *bmi.Op) {
		op.Complete(0, nil)
		assert.Panics(t, func() { op.Complete(0, nil) })
	}
	s := f.open(t, bmi.Config{})
	p, err := s.ctx.PostSend(s.peer, 1, nil, nil)
	require.NoError(t, err)
	assert.True(t, p.Done)
}

func TestAMethodThatResolvesToNothing(t *testing.T) {
	f := &fake{}
	s := f.open(t, bmi.Config{})
	_, err := s.ep.Lookup("fake://nothing")
	assert.ErrorIs(t, err, bmi.ErrBadAddress)
	assert.Equal(t, "fake", s.ep.Info()[0].Name, "the scheme counts, not what the method says")
}

func TestAMethodThatCannotOpen(t *testing.T) {
	_, err := bmi.Open(context.Background(), bmi.Config{Methods: []string{"fake"}})
	assert.ErrorIs(t, err, bmi.ErrInvalid)
	assert.ErrorContains(t, err, "cannot open method fake")
}

// The answer comes while the caller still polls.
func TestSpinning(t *testing.T) {
	f := &fake{}
	f.poll = func(f *fake) bool {
		if len(f.posted) == 0 || f.polls%1000 != 0 {
			return false
		}
		f.complete(nil, nil)
		return true
	}
	s := f.open(t, bmi.Config{SpinMax: limit})
	s.ep.StopWatchers()
	s.ep.IgnoreLoad()
	before := s.ep.Stats().Endpoint
	for range 10 {
		require.NoError(t, s.wait(s.ctx.PostRecv(s.peer, 1, nil, nil)).Err)
	}
	after := s.ep.Stats().Endpoint
	assert.Equal(t, before.SpinsWon+10, after.SpinsWon)
	assert.Equal(t, before.Sleeps, after.Sleeps)
	assert.Zero(t, after.SpinsLost)
}

// An operation that completes in spite of its Cancel is a success.
func TestBlockingCallThatIsFasterThanItsCancel(t *testing.T) {
	f := &fake{cancel: func(f *fake, op *bmi.Op) { f.complete(op, nil) }}
	s := f.open(t, bmi.Config{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	before := s.ep.Stats().Endpoint.Sleeps
	go func() {
		n, err := s.ctx.Recv(ctx, s.peer, 1, make([]byte, 7))
		assert.Equal(t, 7, n)
		done <- err
	}()
	require.Eventually(t, func() bool { return s.ep.Stats().Endpoint.Sleeps > before }, limit, time.Millisecond)
	cancel()
	assert.NoError(t, <-done)
}

// A message that takes long to move is no reason to sleep before its end.
func TestSpinsWhileAnythingMoves(t *testing.T) {
	const spinMax = 5 * time.Millisecond
	var start time.Time
	f := &fake{poll: func(f *fake) bool {
		if len(f.posted) == 0 {
			return false
		}
		if time.Since(start) > 2*spinMax {
			f.complete(nil, nil)
		}
		return true
	}}
	s := f.open(t, bmi.Config{SpinMax: spinMax})
	s.ep.IgnoreLoad()
	before := s.ep.Stats().Endpoint.SpinsLost
	start = time.Now()
	s.wait(s.ctx.PostRecv(s.peer, 1, nil, nil))
	assert.Equal(t, before, s.ep.Stats().Endpoint.SpinsLost)
}
