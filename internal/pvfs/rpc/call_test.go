package rpc

import (
	"context"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func TestEveryOperation(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		var d disk
		s, address, _ := w.serve(d.handle, ServerOptions{})
		c, to := w.caller(address, Options{})
		ops := 0
		for op := proto.Op(1); op < opsMax; op++ {
			req, resp := proto.NewRequest(op), proto.NewResponse(op)
			if req == nil || resp == nil || op == proto.OpIO {
				continue
			}
			ops++
			err := c.Call(context.Background(), to, nil, req, resp)
			if op == proto.OpFlush {
				require.Equal(t, proto.ENOENT, err, "a status is returned as it is")
				require.ErrorIs(t, err, fs.ErrNotExist)
				continue
			}
			require.NoError(t, err, "operation %d", op)
			assert.Equal(t, uint64(1), s.Stats().Ops[op].Requests)
		}
		assert.Greater(t, ops, 30)
		assert.Equal(t, uint64(1), s.Stats().Ops[proto.OpFlush].Failed)
		var config proto.GetConfigResp
		require.NoError(t, c.Call(context.Background(), to, nil, &proto.GetConfigReq{}, &config))
		assert.Equal(t, "the config", config.Text)
	})
}

func TestSmallIO(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		var d disk
		_, address, _ := w.serve(d.handle, ServerOptions{})
		c, to := w.caller(address, Options{})
		data := random(proto.MaxSmallWrite)
		req := &proto.SmallIOReq{
			Handle: 7, FS: 9, Type: proto.IOWrite, ServerCt: 1, Dist: proto.Dist{Name: proto.DistBasic}, Request: proto.ByteStream(),
			Aggregate: int64(len(data)), Total: int64(len(data)), Data: data,
		}
		var resp proto.SmallIOResp
		require.NoError(t, c.Call(context.Background(), to, nil, req, &resp))
		assert.Equal(t, int64(len(data)), resp.Result)
		req.Type, req.Total, req.Data = proto.IORead, 0, nil
		into := make([]byte, len(data))
		resp = proto.SmallIOResp{Data: into}
		require.NoError(t, c.Call(context.Background(), to, nil, req, &resp))
		assert.Equal(t, data, into, "the bytes are in the memory given")
		require.NoError(t, noop(c, to))
		assert.Equal(t, data, resp.Data, "and stay there")
	})
}

func TestManyCallsAtOnce(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		var d disk
		s, address, _ := w.serve(d.handle, ServerOptions{Workers: 3})
		c, to := w.caller(address, Options{})
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				for range 50 {
					assert.NoError(t, noop(c, to))
				}
			})
		}
		all.Wait()
		assert.Equal(t, uint64(800), s.Stats().Ops[proto.OpNoop].Requests)
		soon(t, func() bool { return s.Stats().Running == 0 }, "all are over")
	})
}

func TestRequestThatIsTooLong(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		var d disk
		_, address, _ := w.serve(d.handle, ServerOptions{})
		c, to := w.caller(address, Options{})
		err := c.Call(context.Background(), to, nil, &proto.SetEattrReq{Keys: []string{"a", "b", "c"}, Values: [][]byte{random(8000), random(8000), random(8000)}},
			&proto.SetEattrResp{})
		require.ErrorIs(t, err, ErrTooLong)
		require.ErrorIs(t, err, ErrNotSent)
		require.NoError(t, noop(c, to))
	})
}

func TestNobodyAnswers(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		address := w.method + "://rpc-nobody"
		if w.method == "tcp" {
			ep := w.open(true)
			address = ep.Addresses()[0]
			require.NoError(t, ep.Close())
		}
		c, to := w.caller(address, Options{})
		require.ErrorIs(t, noop(c, to), ErrNotSent)
		_, err := c.WriteFlow(context.Background(), &Flow{To: to, Request: ioReq(0, 5), Total: 5, Memory: Bytes(random(5))})
		require.ErrorIs(t, err, ErrNotSent)
		_, err = c.ReadFlow(context.Background(), &Flow{To: to, Request: ioReq(0, 5), Total: 5, Memory: Bytes(random(5))})
		require.ErrorIs(t, err, ErrNotSent)
	})
}

// gate is a handler whose GetConfig waits until it is opened, and answers with a long text.
type gate struct {
	disk
	entered, open chan struct{}
}

func newGate() *gate { return &gate{entered: make(chan struct{}, 16), open: make(chan struct{})} }

func (g *gate) handle(c *Call) {
	if _, ok := c.Request.(*proto.GetConfigReq); ok {
		g.entered <- struct{}{}
		select {
		case <-g.open:
		case <-c.Context().Done():
			c.Fail(c.Context().Err())
			return
		}
		c.Reply(&proto.GetConfigResp{Text: strings.Repeat("x", 60_000)})
		return
	}
	g.disk.handle(c)
}

func getConfig(ctx context.Context, c *Caller, to bmi.Addr) error {
	return c.Call(ctx, to, nil, &proto.GetConfigReq{}, &proto.GetConfigResp{})
}

func TestLateAnswersStandInNobodysWay(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		g := newGate()
		_, address, _ := w.serve(g.handle, ServerOptions{})
		c, to := w.caller(address, Options{Timeout: 20 * time.Millisecond})
		patient := NewCaller(c.ep, Options{})
		defer func() { require.NoError(t, patient.Close()) }()
		require.NoError(t, noop(patient, to)) // they are connected: later messages are sent at once
		err := getConfig(context.Background(), c, to)
		require.ErrorIs(t, err, ErrTimeout)
		require.ErrorIs(t, err, ErrNoAnswer)
		<-g.entered

		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- getConfig(ctx, patient, to) }()
		<-g.entered
		cancel()
		err = <-ended
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, ErrNoAnswer)

		close(g.open) // 60 kB arrive for a call that was given up
		for range 20 {
			require.NoError(t, noop(patient, to))
		}
		for _, c := range []*Caller{c, patient} {
			soon(t, func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.late == 0
			}, "late answers were taken")
		}
	})
}

func TestCloseEndsCalls(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		g := newGate()
		_, address, _ := w.serve(g.handle, ServerOptions{})
		c, to := w.caller(address, Options{})
		ended := make(chan error, 1)
		go func() { ended <- getConfig(context.Background(), c, to) }()
		<-g.entered
		require.NoError(t, c.Close())
		require.ErrorIs(t, <-ended, ErrClosed)
		require.ErrorIs(t, noop(c, to), ErrClosed)
		require.ErrorIs(t, noop(c, to), ErrNotSent)
		close(g.open)
	})
}

func TestServerThatVanishesFailsItsCalls(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		raw := w.open(true)
		c, to := w.caller(raw.Addresses()[0], Options{})
		ended := make(chan error, 2)
		go func() { ended <- noop(c, to) }()
		go func() {
			_, err := c.ReadFlow(context.Background(), &Flow{To: to, Request: ioReq(0, 1<<20), Total: 1 << 20, Memory: Bytes(random(1 << 20))})
			ended <- err
		}()
		for range 2 {
			_, err := raw.TestUnexpected(make([]bmi.Unexpected, 1), far)
			require.NoError(t, err)
		}
		require.NoError(t, raw.Close())
		for range 2 {
			select {
			case err := <-ended:
				require.ErrorIs(t, err, ErrNoAnswer)
			case <-time.After(far):
				require.FailNow(t, "the call hangs")
			}
		}
	})
}

func TestBadAnswers(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		raw := w.open(true)
		answers, err := raw.OpenContext()
		require.NoError(t, err)
		c, to := w.caller(raw.Addresses()[0], Options{})
		for name, answer := range map[string][]byte{
			"empty":    {},
			"garbage":  []byte("garbage, and rather a lot of it"),
			"too long": random(5000),
			"other op": proto.AppendStatus(nil, proto.OpFlush, 0),
			"trailing": append(proto.AppendStatus(nil, proto.OpNoop, 0), 0),
		} {
			ended := make(chan error, 1)
			go func() { ended <- noop(c, to) }()
			var in [1]bmi.Unexpected
			n, err := raw.TestUnexpected(in[:], far)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			_ = answers.Send(context.Background(), in[0].From, in[0].Tag, answer)
			require.ErrorIs(t, <-ended, ErrBadAnswer, name)
		}
	})
}

func TestUndecodableRequests(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		var d disk
		s, address, _ := w.serve(d.handle, ServerOptions{})
		_, c, to := w.raw(address)
		good := proto.AppendRequest(nil, nil, &proto.NoopReq{})
		version := append([]byte{0x70, 0x17}, good[2:]...)
		unknown := append([]byte(nil), good...)
		unknown[opAt] = 200
		requests := [][]byte{{}, {1}, version, unknown, append(append([]byte(nil), good...), 0), random(300), good[:len(good)-1]}
		for i, request := range requests {
			answer := ask(t, c, to, bmi.Tag(i+1), request)
			assert.Equal(t, proto.AppendStatus(nil, proto.OpProtoError, proto.EPROTO), answer, "request %d", i)
		}
		assert.Equal(t, uint64(len(requests)), s.Stats().Undecodable)
		assert.Equal(t, proto.AppendStatus(nil, proto.OpNoop, 0), ask(t, c, to, 99, good))
	})
}

func TestHandlersThatPanicOrSayNothing(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		s, address, _ := w.serve(func(c *Call) {
			switch c.Request.(type) {
			case *proto.NoopReq:
				panic("a mistake")
			case *proto.FlushReq:
				c.Fail(nil)
				c.Fail(proto.ENOENT)
				c.Reply(&proto.FlushResp{})
			}
		}, ServerOptions{})
		c, to := w.caller(address, Options{})
		require.Equal(t, proto.EIO, noop(c, to))
		require.Equal(t, proto.EIO, getConfig(context.Background(), c, to))
		require.Equal(t, proto.EIO, c.Call(context.Background(), to, nil, &proto.FlushReq{}, &proto.FlushResp{}), "the first answer is the only one")
		assert.Equal(t, uint64(1), s.Stats().Panics)
	})
}

// TestServersThatCallEachOther: handlers that wait for each other's server do not block each other, however few may run.
func TestServersThatCallEachOther(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		var callers [2]*Caller
		var addrs [2]bmi.Addr
		var stats [2]*Server
		var addresses [2]string
		ready := make(chan struct{})
		for i := range 2 {
			stats[i], addresses[i], _ = w.serve(func(c *Call) {
				if _, ok := c.Request.(*proto.GetConfigReq); !ok {
					c.Reply(proto.NewResponse(c.Request.Op()))
					return
				}
				<-ready
				ctx, cancel := context.WithTimeout(c.Context(), far)
				defer cancel()
				var all sync.WaitGroup
				for range 2 {
					all.Go(func() {
						assert.NoError(t, callers[i].Call(ctx, addrs[i], nil, &proto.NoopReq{}, &proto.NoopResp{}))
					})
				}
				all.Wait()
				c.Reply(&proto.GetConfigResp{})
			}, ServerOptions{Workers: 1})
		}
		for i := range 2 {
			callers[i], addrs[i] = w.caller(addresses[1-i], Options{})
		}
		close(ready)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				for range 10 {
					assert.NoError(t, getConfig(context.Background(), callers[i%2], addrs[i%2]))
				}
			})
		}
		all.Wait()
		for _, s := range stats {
			soon(t, func() bool { return s.Stats().Running == 0 }, "all are over")
			assert.Zero(t, s.Stats().Outside)
		}
	})
}

func TestStopWaitsForWhatIsUnderWay(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		g := newGate()
		_, address, stop := w.serve(g.handle, ServerOptions{Workers: 1})
		c, to := w.caller(address, Options{})
		ended := make(chan error, 2)
		go func() { ended <- getConfig(context.Background(), c, to) }()
		<-g.entered
		go func() { ended <- getConfig(context.Background(), c, to) }() // waits for a worker, or is too late
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			stop()
		}()
		close(g.open)
		require.NoError(t, <-ended)
		<-stopped
	})
}

func TestStopEndsHandlersThatWaitForTooLong(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		g := newGate()
		_, address, stop := w.serve(g.handle, ServerOptions{DrainTime: 10 * time.Millisecond})
		c, to := w.caller(address, Options{})
		ended := make(chan error, 1)
		go func() { ended <- getConfig(context.Background(), c, to) }()
		<-g.entered
		stop()
		require.Equal(t, proto.ECANCEL, <-ended)
	})
}

func TestClientsWithTooManyRequestsAreRefused(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		g := newGate()
		s, address, _ := w.serve(g.handle, ServerOptions{Workers: 1, QueuePerClient: 4})
		c, to := w.caller(address, Options{})
		ended := make(chan error, 20)
		go func() { ended <- getConfig(context.Background(), c, to) }()
		<-g.entered
		for range 10 {
			go func() { ended <- noop(c, to) }()
		}
		for range 6 {
			require.Equal(t, proto.EAGAIN, <-ended)
		}
		other, at := w.caller(address, Options{})
		go func() { ended <- noop(other, at) }()
		soon(t, func() bool { st := s.Stats(); return st.Queued == 5 || len(ended) == 1 }, "another client has its own room")
		close(g.open)
		for range 6 {
			require.NoError(t, <-ended)
		}
		assert.Equal(t, uint64(6), s.Stats().Refused)
	})
}

// TestNothingFoundIsNoFailure: a lookup of a missing name or attribute does not count as failed.
func TestNothingFoundIsNoFailure(t *testing.T) {
	w := newWorld(t, "mem")
	s, address, _ := w.serve(func(c *Call) {
		switch c.Request.Op() {
		case proto.OpGetEattr:
			c.Fail(proto.ENODATA)
		default:
			c.Fail(proto.ENOENT)
		}
	}, ServerOptions{})
	c, to := w.caller(address, Options{})
	require.Error(t, c.Call(t.Context(), to, nil, &proto.LookupPathReq{Path: "x", Start: 1}, &proto.LookupPathResp{}))
	require.Error(t, c.Call(t.Context(), to, nil, &proto.GetEattrReq{Handle: 1, Keys: []string{"user.x"}, Sizes: []int64{1}}, &proto.GetEattrResp{}))
	require.Error(t, c.Call(t.Context(), to, nil, &proto.FlushReq{Handle: 1}, &proto.FlushResp{}))
	ops := s.Stats().Ops
	for op, want := range map[proto.Op][2]uint64{proto.OpLookupPath: {0, 1}, proto.OpGetEattr: {0, 1}, proto.OpFlush: {1, 0}} {
		assert.Equal(t, want, [2]uint64{ops[op].Failed, ops[op].Nothing}, "%d", op)
	}
}

// TestClientsThatTakeNoAnswersAreGivenUp: answers that clients do not take are given up after a while.
func TestClientsThatTakeNoAnswersAreGivenUp(t *testing.T) {
	w := newWorld(t, "mem")
	g := newGate()
	close(g.open)
	s, address, stop := w.serve(g.handle, ServerOptions{Timeout: 20 * time.Millisecond})
	_, c, to := w.raw(address)
	request := proto.AppendRequest(nil, nil, &proto.GetConfigReq{})
	for tag := range 10 {
		require.NoError(t, c.SendUnexpected(context.Background(), to, 0, bmi.Tag(tag+1), request))
		<-g.entered
	}
	soon(t, func() bool { return s.Stats().Unsent == 10 }, "answers are given up")
	stop()
	assert.Zero(t, s.replies.bytes)
}

func TestBegin(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		g := newGate()
		_, address, _ := w.serve(g.handle, ServerOptions{})
		c, to := w.caller(address, Options{})
		var config proto.GetConfigResp
		first := c.Begin(context.Background(), to, nil, &proto.GetConfigReq{}, &config)
		<-g.entered
		second := c.Begin(context.Background(), to, nil, &proto.NoopReq{}, &proto.NoopResp{})
		require.NoError(t, second.Wait(), "while the first is under way")
		close(g.open)
		require.NoError(t, first.Wait())
		assert.Len(t, config.Text, 60_000)

		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		none := c.Begin(ctx, to, nil, &proto.NoopReq{}, &proto.NoopResp{})
		err := none.Wait()
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, ErrNotSent)
		long := c.Begin(context.Background(), to, nil, &proto.SetEattrReq{Keys: []string{"a", "b", "c"}, Values: [][]byte{random(8000), random(8000), random(8000)}}, &proto.SetEattrResp{})
		require.ErrorIs(t, long.Wait(), ErrTooLong)
	})
}

// TestBeginThenEnd: a call that was begun ends with its context, and with the Caller.
func TestBeginThenEnd(t *testing.T) {
	overEach(t, func(t *testing.T, w *world) {
		g := newGate()
		_, address, _ := w.serve(g.handle, ServerOptions{})
		c, to := w.caller(address, Options{})
		ctx, cancel := context.WithCancel(context.Background())
		p := c.Begin(ctx, to, nil, &proto.GetConfigReq{}, &proto.GetConfigResp{})
		<-g.entered
		cancel()
		err := p.Wait()
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, ErrNoAnswer)

		p = c.Begin(context.Background(), to, nil, &proto.GetConfigReq{}, &proto.GetConfigResp{})
		<-g.entered
		closed := make(chan error, 1)
		go func() { closed <- c.Close() }()
		require.ErrorIs(t, p.Wait(), ErrClosed)
		require.NoError(t, <-closed)
		close(g.open)
	})
}
