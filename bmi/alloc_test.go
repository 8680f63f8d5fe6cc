package bmi_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/race"
)

// A small message allocates nothing, from post to completion, in any way of
// waiting for it.
func TestNoAllocations(t *testing.T) {
	w := newWorld(t)
	w.cfg.Manual = true // one goroutine, so that all that is counted is ours
	a, b := w.pair()
	msg, buf := make([]byte, 8), make([]byte, 8)
	list, into := [][]byte{msg[:3], msg[3:]}, [][]byte{buf[:5], buf[5:]}
	out, ops, got := make([]bmi.Completion, 4), make([]bmi.OpID, 1), make([]bmi.Unexpected, 4)
	send := func() {
		p, err := a.ctx.PostSend(a.peer, 1, msg, nil)
		require.True(t, p.Done && err == nil)
	}
	recv := func() bmi.OpID {
		p, err := b.ctx.PostRecv(b.peer, 1, buf, b)
		require.True(t, err == nil)
		return p.Op
	}
	handled := 0
	require.NoError(t, b.ep.Handle(9, func(bmi.Message) { handled++ }))
	for name, fn := range map[string]func(){
		"TestContext": func() {
			recv()
			send()
			n, _ := b.ctx.TestContext(out, 0)
			require.True(t, n == 1)
		},
		"Test": func() {
			id := recv()
			send()
			_, ok, _ := b.ctx.Test(id, bmi.Forever)
			require.True(t, ok)
		},
		"TestSome": func() {
			ops[0] = recv()
			send()
			n, _ := b.ctx.TestSome(ops, out, 0)
			require.True(t, n == 1)
		},
		"lists": func() {
			_, err := b.ctx.PostRecvList(b.peer, 1, into, nil)
			require.True(t, err == nil)
			_, err = a.ctx.PostSendList(a.peer, 1, list, nil)
			require.True(t, err == nil)
			n, _ := b.ctx.TestContext(out, 0)
			require.True(t, n == 1)
		},
		"early message": func() {
			send()
			_, _ = b.ctx.TestContext(out, 0)
			require.Zero(t, recv())
		},
		"cancel": func() {
			id := recv()
			require.True(t, b.ctx.Cancel(id) == nil)
			n, _ := b.ctx.TestContext(out, 0)
			require.True(t, n == 1)
		},
		"unexpected": func() {
			_, err := a.ctx.PostSendUnexpected(a.peer, 2, 1, msg, nil)
			require.True(t, err == nil)
			n, _ := b.ep.TestUnexpected(got, 0)
			require.True(t, n == 1)
			got[0].Release()
		},
		"handler": func() {
			before := handled
			_, err := a.ctx.PostSendUnexpected(a.peer, 9, 1, msg, nil)
			require.True(t, err == nil)
			_, _ = b.ctx.TestContext(out, 0)
			require.True(t, handled == before+1)
		},
	} {
		t.Run(name, func(t *testing.T) { assert.Zero(t, testing.AllocsPerRun(100, fn)) })
	}
}

// Waiting allocates nothing either: blocked, asleep, or with the background goroutine.
func TestNoAllocationsWhileWaiting(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for name, noSleeper := range map[string]bool{"asleep": false, "on a timer": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.cfg.SpinMax, w.opt.NoSleeper = -1, noSleeper
			a, b := w.pair()
			var all sync.WaitGroup
			defer all.Wait()
			stop := make(chan struct{})
			defer close(stop)
			kick := make(chan struct{})
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-kick:
					}
					if _, err := b.ctx.PostSend(b.peer, 1, nil, nil); !assert.NoError(t, err) {
						return
					}
				}
			})
			before := a.ep.Stats().Endpoint.Sleeps
			allocs := testing.AllocsPerRun(100, func() {
				p, err := a.ctx.PostRecv(a.peer, 1, nil, nil)
				require.True(t, err == nil && !p.Done)
				_, ok, err := a.ctx.Test(p.Op, 20*time.Microsecond) // nothing comes yet
				require.True(t, err == nil && !ok)
				kick <- struct{}{}
				_, ok, err = a.ctx.Test(p.Op, limit)
				require.True(t, err == nil && ok)
			})
			assert.Zero(t, allocs)
			assert.Greater(t, a.ep.Stats().Endpoint.Sleeps, before+50, "it did sleep")
		})
	}
}
