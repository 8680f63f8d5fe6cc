package bmi_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/internal/trace"
)

// traceFile is the file of a trace in memory.
type traceFile struct{ bytes []byte }

func (f *traceFile) WriteAt(p []byte, at int64) (int, error) {
	f.bytes = append(f.bytes[:at], p...)
	return len(p), nil
}

// traced makes endpoints of w write to a trace whose clock moves a microsecond with each look.
func (w *world) traced() (*trace.Trace, *traceFile) {
	f, now := &traceFile{}, time.Duration(0)
	tr, err := trace.New(f, trace.Options{
		Every: -1, Process: &trace.Process{PID: 1, Host: "here", Program: "test"},
		Clock: func() time.Duration { now += time.Microsecond; return now },
	})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, tr.Close()) })
	w.cfg.Trace, w.cfg.Manual = tr, true
	return tr, f
}

// TestTrace: every way of sending and receiving, and every way to end, is in the trace.
func TestTrace(t *testing.T) {
	w := newWorld(t)
	tr, f := w.traced()
	a, b := w.pair()
	require.Same(t, tr, a.ep.Trace())
	require.NoError(t, b.ep.Handle(3, func(bmi.Message) {}))
	wait := func(c *bmi.Context) {
		out := make([]bmi.Completion, 8)
		_, err := c.TestContext(out, 0)
		require.NoError(t, err)
	}
	ignore := func(_ bmi.Posted, err error) { require.NoError(t, err) }

	ignore(b.ctx.PostRecv(b.peer, 5, make([]byte, 100), nil)) // pending, then received
	ignore(a.ctx.PostSend(a.peer, 5, make([]byte, 8), nil))
	wait(b.ctx)
	ignore(a.ctx.PostSend(a.peer, 6, make([]byte, 8), nil)) // early, then received within the post
	wait(b.ctx)
	ignore(b.ctx.PostRecvList(b.peer, 6, [][]byte{make([]byte, 4), make([]byte, 4)}, nil))
	ignore(b.ctx.PostRecv(b.peer, 7, make([]byte, 2), nil)) // too short
	_, err := a.ctx.PostSends(a.peer, []bmi.Post{{Tag: 7, Buf: make([]byte, 9)}})
	require.NoError(t, err)
	wait(b.ctx)
	p, err := b.ctx.PostRecv(b.peer, 8, nil, nil) // cancelled
	require.NoError(t, err)
	require.NoError(t, b.ctx.Cancel(p.Op))
	wait(b.ctx)
	ignore(a.ctx.PostSendUnexpected(a.peer, 2, 9, make([]byte, 3), nil)) // into the queue
	ignore(a.ctx.PostSendUnexpected(a.peer, 3, 9, make([]byte, 3), nil)) // to a handler
	wait(b.ctx)
	_, err = b.ctx.PostRecvs(b.peer, []bmi.Post{{Tag: 10, Buf: make([]byte, 1)}}) // never ends
	require.NoError(t, err)
	require.NoError(t, tr.Flush())
	golden.Check(t, "testdata/trace.json", f.bytes)
}

// TestTraceOfSendsWithoutOps: small messages that need no operation are traced, too.
func TestTraceOfSendsWithoutOps(t *testing.T) {
	w := newWorld(t)
	tr, file := w.traced()
	f := &fake{nowBytes: 8, now: func(_, _ []byte) bool { return true }}
	s := f.open(t, w.cfg)
	_, err := s.ctx.PostRecv(s.peer, 1, nil, nil)
	require.NoError(t, err)
	require.True(t, s.ctx.SendUnexpectedNow(s.peer, 0, 4, []byte("a"), []byte("bc")))
	_, err = s.ctx.PostSends(s.peer, []bmi.Post{{Tag: 5}, {Tag: 6}})
	require.NoError(t, err)
	require.NoError(t, tr.Flush())
	assert.Equal(t, 1, bytes.Count(file.bytes, []byte(`"ph":"e","ts":3.000`)))
	assert.Equal(t, 3, bytes.Count(file.bytes, []byte(`"ph":"e"`)))
	assert.Contains(t, string(file.bytes), `"bytes":3,"tag":4,"class":0,"lane":0,"peer":"fake://peer","method":"fake"}`)
}

// TestTraceOfFiles: bytes of a file are traced as any other message.
func TestTraceOfFiles(t *testing.T) {
	w := newWorld(t)
	tr, file := w.traced()
	f := &fake{files: true}
	s := f.open(t, w.cfg)
	data, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	defer data.Close()
	_, err = s.ctx.PostSendFile(s.peer, 1, bmi.FileRange{File: data, Len: 50}, nil)
	require.NoError(t, err)
	require.NoError(t, tr.Flush())
	assert.Contains(t, string(file.bytes), `"bytes":50,"tag":1,`)
}

// TestTracingAllocatesNothing: traced operations allocate nothing either.
func TestTracingAllocatesNothing(t *testing.T) {
	w := newWorld(t)
	tr, _ := w.traced()
	a, b := w.pair()
	msg, out := make([]byte, 8), make([]bmi.Completion, 1)
	round := func() {
		_, _ = b.ctx.PostRecv(b.peer, 1, msg, nil)
		_, _ = a.ctx.PostSend(a.peer, 1, msg, nil)
		n, _ := b.ctx.TestContext(out, 0)
		require.True(t, n == 1)
	}
	round()
	require.NoError(t, tr.Flush())
	assert.Zero(t, testing.AllocsPerRun(100, round))
}

// TestTraceThatHasEnded: endpoints go on without it.
func TestTraceThatHasEnded(t *testing.T) {
	w := newWorld(t)
	tr, f := w.traced()
	require.NoError(t, tr.Close())
	size := len(f.bytes)
	a, b := w.pair()
	require.NoError(t, b.wait(b.ctx.PostSend(b.peer, 1, nil, nil)).Err)
	require.NoError(t, a.ep.Shutdown(context.Background()))
	require.Len(t, f.bytes, size)
}
