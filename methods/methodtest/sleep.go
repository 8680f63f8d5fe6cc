package methodtest

import (
	"errors"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Sleepers: a Test call with a long wait returns as soon as there is a result for it,
// even if its caller sleeps, and at the end of its wait otherwise.
var sleepTests = Tests{
	{"SleepPingPong", false, testSleepPingPong},
	{"SleepInEveryCall", false, testSleepInEveryCall},
	{"SleepManyContexts", false, testSleepManyContexts},
	{"SleepEnds", false, testSleepEnds},
	{"SleepUntilClose", false, testSleepUntilClose},
	{"SleepWhileDropping", false, testSleepWhileDropping},
}

// sleepy makes an endpoint whose Test calls sleep at once.
func (w *world) sleepy(role string) *node {
	w.Helper()
	return w.open(role, func(cfg *bmi.Config) { cfg.SpinMax = -1 })
}

// awaken is Test with a wait that must end long before its limit.
func (w *world) awaken(t T, ctx *bmi.Context, p bmi.Posted) bmi.Completion {
	t.Helper()
	if p.Done {
		return bmi.Completion{Size: p.Size}
	}
	start := time.Now()
	c, done, err := ctx.Test(p.Op, w.s.timeout())
	require.NoError(t, err)
	require.True(t, done, "nobody woke the caller for what has arrived")
	require.Less(t, time.Since(start), w.prompt(), "the caller was woken late")
	require.NoError(t, c.Err)
	return c
}

func testSleepPingPong(t T, s *Subject) {
	w := newWorld(t, s)
	w.threaded()
	a, b := w.sleepy("a"), w.sleepy("b")
	w.meet(a, b)
	const rounds = 300
	w.parallel(2, func(t T, i int) {
		me, other := a, b
		if i == 1 {
			me, other = b, a
		}
		to := me.addr(other)
		ctx, err := me.ep.OpenContext()
		require.NoError(t, err)
		var buf [8]byte
		for round := range rounds {
			if round%2 == i {
				p, err := ctx.PostSend(to, 1, buf[:], nil)
				require.NoError(t, err)
				w.awaken(t, ctx, p)
				continue
			}
			p, err := ctx.PostRecv(to, 1, buf[:], nil)
			require.NoError(t, err)
			w.awaken(t, ctx, p)
		}
	})
}

func testSleepInEveryCall(t T, s *Subject) {
	w := newWorld(t, s)
	w.threaded()
	a, b := w.sleepy("a"), w.sleepy("b")
	w.meet(a, b)
	var posted bmi.Posted
	var buf [8]byte
	// Each sleeps in a different call; all end with a message.
	calls := []func() (int, error){
		func() (int, error) { return b.ctx.TestContext(make([]bmi.Completion, 1), w.s.timeout()) },
		func() (int, error) {
			return b.ctx.TestSome([]bmi.OpID{posted.Op}, make([]bmi.Completion, 1), w.s.timeout())
		},
		func() (int, error) {
			_, done, err := b.ctx.Test(posted.Op, bmi.Forever)
			if done {
				return 1, err
			}
			return 0, err
		},
	}
	for round := range 30 {
		var err error
		posted, err = b.ctx.PostRecv(b.addr(a), 1, buf[:], nil)
		require.NoError(t, err)
		require.False(t, posted.Done)
		w.wakes(func() (int, error) { return calls[round%len(calls)]() },
			func() { w.done(a.send(b, 1, w.message(8))) })
	}
	for range 10 {
		w.wakes(func() (int, error) { return b.ep.TestUnexpected(make([]bmi.Unexpected, 1), w.s.timeout()) },
			func() { w.done(a.sendUnexpected(b, 0, 1, w.message(8))) })
		w.wakes(func() (int, error) { return b.ep.TestUnexpectedClass(0, make([]bmi.Unexpected, 1), bmi.Forever) },
			func() { w.done(a.sendUnexpected(b, 0, 1, w.message(8))) })
	}
}

// wakes requires that call, started in another goroutine, returns one result soon after
// event.
func (w *world) wakes(call func() (int, error), event func()) {
	w.Helper()
	type result struct {
		n   int
		err error
	}
	begun, ended := make(chan struct{}), make(chan result, 1)
	go func() {
		close(begun)
		n, err := call()
		ended <- result{n, err}
	}()
	<-begun
	event()
	select {
	case r := <-ended:
		require.NoError(w, r.err)
		require.Equal(w, 1, r.n)
	case <-time.After(w.prompt()):
		w.Errorf("a caller was not woken within %v", w.prompt())
		w.FailNow()
	}
}

func testSleepManyContexts(t T, s *Subject) {
	w := newWorld(t, s)
	w.threaded()
	a, b := w.sleepy("a"), w.sleepy("b")
	w.meet(a, b)
	const count, rounds = 8, 30
	// Only one of the sleepers polls; it must wake the others for their results.
	w.parallel(2*count, func(t T, i int) {
		tag := bmi.Tag(i / 2)
		var buf [8]byte
		me, other := a, b
		if i%2 == 1 {
			me, other = b, a
		}
		ctx, err := me.ep.OpenContext()
		require.NoError(t, err)
		to := me.addr(other)
		for round := range rounds {
			var p bmi.Posted
			if (i+round)%2 == 0 {
				p, err = ctx.PostSend(to, tag, buf[:], nil)
			} else {
				p, err = ctx.PostRecv(to, tag, buf[:], nil)
			}
			require.NoError(t, err)
			w.awaken(t, ctx, p)
		}
	})
}

func testSleepEnds(t T, s *Subject) {
	w := newWorld(t, s)
	w.threaded()
	a, b := w.sleepy("a"), w.sleepy("b")
	w.exchange(a, b, 1, w.message(8))
	r := b.recv(a, 1, 8)
	const wait = 30 * time.Millisecond
	var out [1]bmi.Completion
	var messages [1]bmi.Unexpected
	for name, call := range map[string]func() (int, error){
		"Test": func() (int, error) {
			_, done, err := b.ctx.Test(r.id, wait)
			require.False(t, done)
			return 0, err
		},
		"TestSome":            func() (int, error) { return b.ctx.TestSome([]bmi.OpID{r.id}, out[:], wait) },
		"TestContext":         func() (int, error) { return b.ctx.TestContext(out[:], wait) },
		"TestUnexpected":      func() (int, error) { return b.ep.TestUnexpected(messages[:], wait) },
		"TestUnexpectedClass": func() (int, error) { return b.ep.TestUnexpectedClass(0, messages[:], wait) },
	} {
		start := time.Now()
		n, err := call()
		took := time.Since(start)
		assert.NoError(t, err, name)
		assert.Zero(t, n, name)
		assert.GreaterOrEqual(t, took, wait, "%s came back early", name)
		assert.Less(t, took, wait+w.prompt(), "%s came back late", name)
	}
	m := w.message(8)
	w.done(a.send(b, 1, m))
	r.got(m)
}

func testSleepUntilClose(t T, s *Subject) {
	w := newWorld(t, s)
	w.threaded()
	a, b := w.sleepy("a"), w.open("b", shortDrain)
	w.meet(a, b)
	r := b.recv(a, 1, 8)
	calls := []func() error{
		func() error {
			c, done, err := b.ctx.Test(r.id, bmi.Forever)
			if done {
				return c.Err
			}
			return err
		},
		func() error {
			_, err := b.ep.TestUnexpected(make([]bmi.Unexpected, 1), bmi.Forever)
			return err
		},
		func() error {
			ctx, err := b.ep.OpenContext()
			if err == nil {
				_, err = ctx.TestContext(make([]bmi.Completion, 1), bmi.Forever)
			}
			return err
		},
	}
	ended := make(chan error, len(calls))
	for _, call := range calls {
		go func() { ended <- call() }()
	}
	b.abandon()
	w.closeBounded(b)
	for range calls {
		select {
		case err := <-ended:
			require.Error(t, err)
			require.True(t, errors.Is(err, bmi.ErrClosed) || errors.Is(err, bmi.ErrPeerFailed), "error %v", err)
		case <-time.After(w.prompt()):
			w.overdue(t, "closing an endpoint wakes those who sleep in its calls")
		}
	}
}

// testSleepWhileDropping: a peer learns that it was dropped even while a goroutine sleeps on the
// endpoint that dropped it. A goroutine that polls a socket keeps it open after its close.
func testSleepWhileDropping(t T, s *Subject) {
	w := newWorld(t, s)
	w.threaded()
	a, b := w.open("a", shortDrain, func(cfg *bmi.Config) { cfg.SpinMax = -1 }), w.open("b")
	w.exchange(a, b, 1, w.message(10))
	w.exchange(b, a, 1, w.message(10))
	r := b.recv(a, 1, 100)
	b.heard(a)
	idle, err := a.ep.OpenContext()
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := idle.TestContext(make([]bmi.Completion, 1), bmi.Forever)
		ended <- err
	}()
	time.Sleep(20 * time.Millisecond) // it probably sleeps by now
	a.drop(b)
	w.failed([]*op{r})
	w.renewed(a, b)
	a.abandon()
	w.closeBounded(a)
	select {
	case err := <-ended:
		require.ErrorIs(t, err, bmi.ErrClosed)
	case <-time.After(w.prompt()):
		w.overdue(t, "closing an endpoint wakes who sleeps in a call")
	}
}
