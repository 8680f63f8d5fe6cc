package rpc

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Each brief request waits until the next request arrives.
func TestSomebodyWaitsForRequestsWhileBriefOnesTakeLong(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		const deep = 5
		var mu sync.Mutex
		came := 0
		changed := sync.NewCond(&mu)
		_, address, _ := w.serve(func(c *Call) {
			mu.Lock()
			came++
			changed.Broadcast()
			for came < deep {
				changed.Wait()
			}
			mu.Unlock()
			c.Reply(proto.NewResponse(c.Request.Op()))
		}, ServerOptions{Brief: func(op proto.Op) bool { return op == proto.OpNoop }})
		c, to := w.caller(address, Options{})
		var all sync.WaitGroup
		for i := range deep {
			all.Go(func() { assert.NoError(t, noop(c, to)) })
			mu.Lock()
			for came <= i {
				changed.Wait()
			}
			mu.Unlock()
		}
		all.Wait()
	})
}

// A worker that takes too long is also replaced in a server that was idle, and in one whose timer runs for an earlier request.
func TestStandInAfterBriefRequests(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		_, address, _ := w.serve(func(c *Call) {
			if _, ok := c.Request.(*proto.GetConfigReq); ok {
				<-release
				c.Reply(&proto.GetConfigResp{})
				return
			}
			c.Reply(proto.NewResponse(c.Request.Op()))
		}, ServerOptions{Brief: func(proto.Op) bool { return true }})
		c, to := w.caller(address, Options{})
		for range 20 {
			for range 10 {
				require.NoError(t, noop(c, to))
			}
			var slow sync.WaitGroup
			slow.Go(func() { assert.NoError(t, getConfig(context.Background(), c, to)) })
			require.NoError(t, noop(c, to), "while another one takes long")
			release <- struct{}{}
			slow.Wait()
		}
	})
}
