package rpc

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// FuzzServer sends arbitrary bytes to a server. Each message gets an answer that decodes.
func FuzzServer(f *testing.F) {
	for _, op := range []proto.Op{proto.OpNoop, proto.OpGetConfig, proto.OpIO, proto.OpSmallIO, proto.OpReadDir, proto.OpCreate} {
		f.Add(proto.AppendRequest(nil, nil, proto.NewRequest(op)))
	}
	f.Add(proto.AppendRequest(nil, nil, ioReq(0, 10)))
	w := newWorld(f, "mem")
	s, address, _ := w.serve(func(c *Call) { c.Fail(proto.ENOENT) }, ServerOptions{})
	_, c, to := w.raw(address)
	tag := bmi.Tag(0)
	f.Fuzz(func(t *testing.T, request []byte) {
		if len(request) > proto.MaxUnexpected {
			return
		}
		tag++
		_, status, err := proto.ParseAnyResponse(ask(t, c, to, tag, request))
		require.NoError(t, err)
		require.NotEqual(t, proto.OK, status)
		require.Zero(t, s.Stats().Panics)
	})
}

// FuzzAnswer makes a server answer with arbitrary bytes. A call ends with an answer or an error.
func FuzzAnswer(f *testing.F) {
	requests := []proto.Request{&proto.NoopReq{}, &proto.GetConfigReq{}, &proto.ReadDirReq{Count: 5}, &proto.GetAttrReq{}, &proto.TreeGetAttrReq{}, ioReq(0, 10)}
	for i, r := range requests {
		f.Add(byte(i), proto.AppendResponse(nil, proto.NewResponse(r.Op())))
	}
	w := newWorld(f, "mem")
	var answer atomic.Pointer[[]byte]
	server := w.open(true)
	replies, err := server.OpenContext()
	require.NoError(f, err)
	go func() {
		var in [1]bmi.Unexpected
		for {
			if _, err := server.TestUnexpected(in[:], bmi.Forever); err != nil {
				return // closed
			}
			_ = replies.Send(context.Background(), in[0].From, in[0].Tag, *answer.Load()) // too long, or the caller gave up
			in[0].Release()
		}
	}()
	c, to := w.caller(server.Addresses()[0], Options{Timeout: far})
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		answer.Store(&b)
		req := requests[int(which)%len(requests)]
		var status proto.Status
		err := c.Call(context.Background(), to, nil, req, proto.NewResponse(req.Op()))
		require.True(t, err == nil || errors.As(err, &status) || errors.Is(err, ErrBadAnswer), "%v", err)
	})
}
