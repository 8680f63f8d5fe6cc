package bmi_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// take returns the next unexpected message of any class.
func (s *side) take() bmi.Unexpected {
	s.t.Helper()
	var out [1]bmi.Unexpected
	n, err := s.ep.TestUnexpected(out[:], limit)
	require.NoError(s.t, err)
	require.Equal(s.t, 1, n, "no unexpected message came in time")
	return out[0]
}

// tell sends an unexpected message whose text is also its content.
func (s *side) tell(class bmi.Class, text string) {
	s.t.Helper()
	_, err := s.ctx.PostSendUnexpected(s.peer, class, 9, []byte(text), nil)
	require.NoError(s.t, err)
}

func TestUnexpected(t *testing.T) {
	a, b := newWorld(t).pair()
	b.tell(5, "hello")
	u := a.take()
	assert.Equal(t, a.peer, u.From)
	assert.EqualValues(t, 5, u.Class)
	assert.EqualValues(t, 9, u.Tag)
	assert.Equal(t, "hello", string(u.Data))
	second := u
	u.Release()
	assert.Nil(t, u.Data)
	u.Release()
	second.Release() // a copy: its message is gone, so this does nothing

	b.tell(5, "one")
	b.tell(5, "two")
	one, two := a.take(), a.take()
	assert.Equal(t, "one", string(one.Data))
	assert.Equal(t, "two", string(two.Data), "no buffer was given out twice")
}

func TestUnexpectedClasses(t *testing.T) {
	a, b := newWorld(t).pair()
	for i, class := range []bmi.Class{1, 2, 1, 255} {
		b.tell(class, fmt.Sprint(i))
	}
	out := make([]bmi.Unexpected, 8)
	n, err := a.ep.TestUnexpectedClass(2, out, limit)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	assert.Equal(t, "1", string(out[0].Data))
	n, err = a.ep.TestUnexpectedClass(2, out, 0)
	require.NoError(t, err)
	assert.Zero(t, n)
	var got string
	for range 3 {
		u := a.take()
		got += string(u.Data)
	}
	assert.Equal(t, "023", got, "in the order of arrival")
}

func TestUnexpectedLimits(t *testing.T) {
	for _, tc := range []struct {
		name      string
		limits    bmi.Limits
		noSleeper bool
	}{
		{"messages", bmi.Limits{UnexpectedMessages: 3}, false},
		{"bytes", bmi.Limits{UnexpectedBytes: 12}, false},
		{"a method on a timer", bmi.Limits{UnexpectedMessages: 3}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.cfg.Limits, w.opt.NoSleeper = tc.limits, tc.noSleeper
			a, b := w.pair()
			for i := range 20 {
				b.tell(0, fmt.Sprintf("%04d", i))
			}
			require.Eventually(t, func() bool { return a.ep.Stats().Endpoint.RefusedUnexpected > 0 }, limit, time.Millisecond)
			s := a.ep.Stats().Endpoint
			assert.Equal(t, 3, s.QueuedUnexpected)
			assert.Equal(t, 12, s.QueuedUnexpectedBytes)

			// Expected messages of the same sender, and of others, still come.
			b.wait(b.ctx.PostSend(b.peer, 1, nil, nil))
			require.NoError(t, a.wait(a.ctx.PostRecv(a.peer, 1, nil, nil)).Err)

			for i := range 20 {
				u := a.take()
				assert.Equal(t, fmt.Sprintf("%04d", i), string(u.Data))
				u.Release()
			}
		})
	}
}

// TestDropMakesRoom: when a dropped peer makes room, held messages are offered again at
// once, also to a sleeping caller.
func TestDropMakesRoom(t *testing.T) {
	var other bmi.Addr
	taken := false
	f := &fake{poll: func(f *fake) bool {
		if other == (bmi.Addr{}) {
			other = f.host.NewAddr(fakePeer{})
			return f.host.Arrived(f.addr, 1, 0, []byte("in the way"))
		}
		offered := !taken
		taken = taken || f.host.Arrived(other, 2, 0, []byte("waits"))
		return taken && offered
	}}
	s := f.open(t, bmi.Config{Limits: bmi.Limits{UnexpectedMessages: 1}})
	got := make(chan string)
	go func() {
		out := make([]bmi.Unexpected, 1)
		_, err := s.ep.TestUnexpectedClass(2, out, limit)
		assert.NoError(t, err)
		got <- string(out[0].Data)
	}()
	require.Eventually(t, func() bool { return s.ep.Stats().Endpoint.RefusedUnexpected > 0 && f.asleep() }, limit, time.Millisecond)
	require.NoError(t, s.ep.DropAddr(s.peer))
	select {
	case text := <-got:
		assert.Equal(t, "waits", text)
	case <-time.After(limit / 2):
		assert.Fail(t, "nobody offered the message again")
		<-got
	}
}

func TestOneMessageIsAlwaysAccepted(t *testing.T) {
	w := newWorld(t)
	w.cfg.Limits.UnexpectedBytes = 1
	a, b := w.pair()
	b.tell(0, "longer than the limit")
	u := a.take()
	assert.Equal(t, "longer than the limit", string(u.Data))
}

func TestUnexpectedSizes(t *testing.T) {
	w := newWorld(t)
	w.opt.MaxUnexpectedSize = 3 << 20
	a, b := w.pair()
	for range 2 { // the second time from the pool
		for _, size := range []int{0, 1, 256, 257, 1 << 20, 1<<20 + 1, 3 << 20} {
			msg := make([]byte, size)
			for i := range msg {
				msg[i] = byte(i * size)
			}
			sent, err := b.ctx.PostSendUnexpected(b.peer, 0, 9, msg, nil)
			require.NoError(t, err)
			u := a.take()
			require.True(t, bytes.Equal(msg, u.Data))
			u.Release()
			require.NoError(t, b.wait(sent, nil).Err)
		}
	}
}

func TestHandler(t *testing.T) {
	a, b := newWorld(t).pair()
	got := make(chan string, 10)
	require.NoError(t, a.ep.Handle(3, func(m bmi.Message) {
		assert.Equal(t, a.peer, m.From)
		assert.EqualValues(t, 3, m.Class)
		assert.EqualValues(t, 9, m.Tag)
		got <- string(m.Data)
	}))
	b.tell(3, "x")
	b.tell(4, "other class")
	assert.Equal(t, "x", <-got, "called by the background goroutine: nobody tests")
	u := a.take()
	assert.Equal(t, "other class", string(u.Data))

	require.NoError(t, a.ep.Handle(3, nil))
	b.tell(3, "y")
	u = a.take()
	assert.Equal(t, "y", string(u.Data))
	assert.Empty(t, got)
	assert.EqualValues(t, 1, a.ep.Stats().Endpoint.HandlerCalls)
}

func TestHandlerGetsWhatIsQueued(t *testing.T) {
	w := newWorld(t)
	w.cfg.Limits.UnexpectedMessages = 5 // the others wait with the method
	a, b := w.pair()
	for i := range 20 {
		b.tell(1, fmt.Sprint(i))
		b.tell(2, "not ours")
	}
	require.Eventually(t, func() bool { return a.ep.Stats().Endpoint.RefusedUnexpected > 0 }, limit, time.Millisecond)
	var mu sync.Mutex
	var got []string
	note := func(m bmi.Message) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, string(m.Data))
	}
	require.NoError(t, a.ep.Handle(2, func(bmi.Message) {}))
	require.NoError(t, a.ep.Handle(1, note))
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(got) }
	require.Eventually(t, func() bool { return count() == 20 }, limit, time.Millisecond)
	for i, text := range got {
		assert.Equal(t, fmt.Sprint(i), text)
	}
	assert.EqualValues(t, 40, a.ep.Stats().Endpoint.HandlerCalls)
}

func TestHandlerPostsAndCancels(t *testing.T) {
	a, b := newWorld(t).pair()
	waiting, err := a.ctx.PostRecv(a.peer, 1, nil, nil)
	require.NoError(t, err)
	require.NoError(t, a.ep.Handle(0, func(m bmi.Message) {
		p, err := a.ctx.PostSend(m.From, m.Tag, m.Data, nil)
		assert.NoError(t, err)
		assert.True(t, p.Done)
		assert.NoError(t, a.ctx.Cancel(waiting.Op))
	}))
	reply := make([]byte, 8)
	recv, err := b.ctx.PostRecv(b.peer, 9, reply, nil)
	require.NoError(t, err)
	b.tell(0, "echo")
	got := b.wait(recv, nil)
	require.NoError(t, got.Err)
	assert.Equal(t, "echo", string(reply[:got.Size]))
	assert.ErrorIs(t, a.wait(waiting, nil).Err, bmi.ErrCancelled)
}

// While a handler runs, posts succeed, no goroutine polls, and waiting callers continue
// when it returns.
func TestSlowHandler(t *testing.T) {
	a, b := newWorld(t).pair()
	running, release := make(chan bool), make(chan bool)
	require.NoError(t, a.ep.Handle(0, func(bmi.Message) {
		running <- true
		<-release
	}))
	b.tell(0, "")
	<-running
	recv, err := a.ctx.PostRecv(a.peer, 1, nil, nil)
	require.NoError(t, err)
	b.wait(b.ctx.PostSend(b.peer, 1, nil, nil))
	_, ok, err := a.ctx.Test(recv.Op, 20*time.Millisecond)
	require.NoError(t, err)
	assert.False(t, ok, "the method was polled although a handler ran")
	done := make(chan bmi.Completion)
	go func() { done <- a.wait(recv, nil) }()
	release <- true
	assert.NoError(t, (<-done).Err)
}

func TestHandlerPanicGoesOn(t *testing.T) {
	w := newWorld(t)
	w.cfg.Manual = true
	a, b := w.pair()
	require.NoError(t, a.ep.Handle(0, func(bmi.Message) { panic("mine") }))
	b.tell(0, "")
	assert.PanicsWithValue(t, "mine", func() { _, _ = a.ctx.TestContext(make([]bmi.Completion, 1), 0) })
	_, err := a.ctx.PostRecv(a.peer, 1, nil, nil)
	assert.NoError(t, err, "whoever recovers can still post, and close")
}

func TestHandlerRemovesItself(t *testing.T) {
	w := newWorld(t)
	w.cfg.Manual = true
	a, b := w.pair()
	for range 3 {
		b.tell(0, "")
	}
	step := func() { _, _ = a.ctx.TestContext(make([]bmi.Completion, 1), 0) }
	step()
	calls := 0
	once := func(bmi.Message) {
		calls++
		assert.NoError(t, a.ep.Handle(0, nil))
	}
	require.NoError(t, a.ep.Handle(0, once)) // while it gets what is queued
	assert.Equal(t, 1, calls)
	assert.Equal(t, 2, a.ep.Stats().Endpoint.QueuedUnexpected)
	a.take()
	a.take()
	require.NoError(t, a.ep.Handle(0, once)) // while it gets what arrives
	b.tell(0, "")
	b.tell(0, "")
	step()
	assert.Equal(t, 2, calls)
	assert.Equal(t, 1, a.ep.Stats().Endpoint.QueuedUnexpected)
}

func TestHandleTwiceAtOnce(t *testing.T) {
	w := newWorld(t)
	w.cfg.Manual = true
	a, b := w.pair()
	b.tell(0, "")
	n, err := a.ctx.TestContext(make([]bmi.Completion, 1), 0)
	require.NoError(t, err)
	require.Zero(t, n)
	calls := 0
	require.NoError(t, a.ep.Handle(0, func(bmi.Message) {
		calls++
		assert.ErrorIs(t, a.ep.Handle(0, func(bmi.Message) {}), bmi.ErrInvalid)
	}))
	assert.Equal(t, 1, calls)
}
