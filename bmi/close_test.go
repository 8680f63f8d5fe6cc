package bmi_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
)

func TestCloseCompletesEverything(t *testing.T) {
	w := newWorld(t)
	w.opt.EagerSize = 1
	a, _ := w.pair()
	recv, err := a.ctx.PostRecv(a.peer, 1, make([]byte, 1), "recv")
	require.NoError(t, err)
	send, err := a.ctx.PostSend(a.peer, 1, make([]byte, 100), "send")
	require.NoError(t, err)
	require.NoError(t, a.ep.Close())
	require.NoError(t, a.ep.Close(), "twice is fine")

	got := a.wait(recv, nil)
	assert.ErrorIs(t, got.Err, bmi.ErrClosed)
	assert.Equal(t, "recv", got.User)
	out := make([]bmi.Completion, 2)
	n, err := a.ctx.TestContext(out, bmi.Forever)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	assert.Equal(t, send.Op, out[0].Op)
	assert.ErrorIs(t, out[0].Err, bmi.ErrClosed)

	_, err = a.ctx.TestContext(out, bmi.Forever)
	assert.ErrorIs(t, err, bmi.ErrClosed)
	_, _, err = a.ctx.Test(recv.Op, bmi.Forever)
	assert.ErrorIs(t, err, bmi.ErrClosed)
	_, err = a.ep.TestUnexpected(make([]bmi.Unexpected, 1), bmi.Forever)
	assert.ErrorIs(t, err, bmi.ErrClosed)
	_, err = a.ctx.PostRecv(a.peer, 1, nil, nil)
	assert.ErrorIs(t, err, bmi.ErrClosed)
	_, err = a.ep.OpenContext()
	assert.ErrorIs(t, err, bmi.ErrClosed)
	_, err = a.ep.Lookup("mem://c")
	assert.ErrorIs(t, err, bmi.ErrClosed)
	_, err = a.ep.Lookup("null://c")
	assert.ErrorIs(t, err, bmi.ErrClosed)
	assert.ErrorIs(t, a.ep.DropAddr(a.peer), bmi.ErrClosed)
	assert.ErrorIs(t, a.ep.CheckAddr(a.peer), bmi.ErrClosed)
	assert.ErrorIs(t, a.ep.Handle(0, nil), bmi.ErrClosed)
	_, err = a.ep.Alloc(a.peer, 1)
	assert.ErrorIs(t, err, bmi.ErrClosed)
	_, err = a.ep.QueryAddrRange(a.peer, "*")
	assert.ErrorIs(t, err, bmi.ErrClosed)
	assert.NoError(t, a.ep.Free(a.peer, nil))
	assert.Empty(t, a.ep.Stats().Methods)
	assert.NoError(t, a.ctx.Close())
}

func TestCloseWakesEverybody(t *testing.T) {
	a, _ := newWorld(t).pair()
	recv, err := a.ctx.PostRecv(a.peer, 1, nil, nil)
	require.NoError(t, err)
	done := make(chan error)
	go func() {
		c, ok, err := a.ctx.Test(recv.Op, bmi.Forever)
		if err == nil && ok {
			err = c.Err
		}
		done <- err
	}()
	go func() {
		_, err := a.ep.TestUnexpected(make([]bmi.Unexpected, 1), bmi.Forever)
		done <- err
	}()
	go func() {
		_, err := a.ctx.Recv(context.Background(), a.peer, 2, nil)
		done <- err
	}()
	require.Eventually(t, func() bool { return a.ep.Stats().Endpoint.Sleeps >= 3 }, limit, time.Millisecond)
	require.NoError(t, a.ep.Close())
	for range 3 {
		assert.ErrorIs(t, <-done, bmi.ErrClosed)
	}
}

func TestMessagesSentBeforeCloseArrive(t *testing.T) {
	a, b := newWorld(t).pair()
	for i := range 10 {
		a.wait(a.ctx.PostSend(a.peer, 1, []byte{byte(i)}, nil))
		a.tell(0, string(rune('a'+i)))
	}
	require.NoError(t, a.ep.Close())
	buf := make([]byte, 1)
	for i := range 10 {
		require.NoError(t, b.wait(b.ctx.PostRecv(b.peer, 1, buf, nil)).Err)
		assert.EqualValues(t, i, buf[0])
		u := b.take()
		assert.Equal(t, string(rune('a'+i)), string(u.Data))
	}
}

func TestShutdownWithAHandlerRunning(t *testing.T) {
	w := newWorld(t)
	a, b := w.pair()
	running, release := make(chan bool), make(chan bool)
	require.NoError(t, a.ep.Handle(0, func(bmi.Message) {
		running <- true
		<-release
	}))
	go func() { // not the background goroutine, which Shutdown waits for
		_, _ = a.ctx.TestContext(make([]bmi.Completion, 1), bmi.Forever)
	}()
	b.tell(0, "")
	<-running
	closed := make(chan error)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { closed <- a.ep.Shutdown(ctx) }()
	cancel()
	err := <-closed
	if err != nil {
		assert.ErrorContains(t, err, "handler")
	}
	release <- true
}

// A method is not called within its Poll, not even to close it: if a handler
// takes longer than the time for Close, the method closes when the handler
// returns.
func TestMethodIsNotClosedWithinPoll(t *testing.T) {
	for _, end := range []string{"returns", "panics"} {
		t.Run("handler "+end, func(t *testing.T) {
			told := false
			f := &fake{poll: func(f *fake) bool {
				if told {
					return false
				}
				told = true
				for range 2 {
					f.must(f.host.Arrived(f.addr, 0, 0, nil), "a message was not taken")
				}
				f.must(len(f.posted) == 1, "its operations were taken away within Poll")
				return true
			}}
			if end == "panics" {
				f.poll = func(f *fake) bool {
					if !told {
						told = true
						defer func() { f.polling = false }()
						f.host.Arrived(f.addr, 0, 0, nil)
					}
					return false
				}
			}
			s := f.open(t, bmi.Config{Manual: true})
			running, release := make(chan bool), make(chan bool)
			require.NoError(t, s.ep.Handle(0, func(bmi.Message) {
				running <- true
				<-release
				if end == "panics" {
					panic("mine")
				}
			}))
			out := make([]bmi.Completion, 2)
			recv, err := s.ctx.PostRecv(s.peer, 1, nil, nil)
			require.NoError(t, err)
			polled := make(chan any)
			got := 0
			go func() {
				defer func() { polled <- recover() }()
				got, _ = s.ctx.TestContext(out[:1], 0)
			}()
			<-running
			require.ErrorContains(t, s.ep.Close(), "handler")
			n, err := s.ctx.TestContext(out[1:], 0)
			require.NoError(t, err, "the method still has an operation")
			require.Zero(t, n)
			_, err = s.ctx.PostRecv(s.peer, 1, nil, nil)
			require.ErrorIs(t, err, bmi.ErrClosed)

			release <- true
			if end == "panics" {
				require.Equal(t, "mine", <-polled)
			} else {
				<-running
				release <- true
				require.Nil(t, <-polled)
			}
			require.NoError(t, s.ep.Close())
			if got == 0 {
				got, err = s.ctx.TestContext(out[:1], 0)
				require.NoError(t, err)
			}
			require.Equal(t, 1, got)
			require.Equal(t, recv.Op, out[0].Op)
			require.ErrorIs(t, out[0].Err, bmi.ErrClosed)
			_, err = s.ctx.TestContext(out, 0)
			require.ErrorIs(t, err, bmi.ErrClosed)
		})
	}
}

func TestShutdownTwiceAtOnce(t *testing.T) {
	a, _ := newWorld(t).pair()
	done := make(chan error)
	for range 4 {
		go func() { done <- a.ep.Shutdown(context.Background()) }()
	}
	for range 4 {
		assert.NoError(t, <-done)
	}
}
