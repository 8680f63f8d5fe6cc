//go:build linux

package stream

import (
	"context"
	"sync"

	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// A Limited is a stream for Serve that ends with the session.
type Limited struct {
	proto.Method_DataServer
	ctx     context.Context
	cancel  context.CancelFunc
	release func() bool
	heard   chan struct{}
	once    sync.Once
}

// Limit makes a stream whose context also ends with ctx, the session's context. Call Release after
// Serve.
func Limit(ctx context.Context, s proto.Method_DataServer) *Limited {
	l := &Limited{Method_DataServer: s, heard: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(s.Context())
	l.release = context.AfterFunc(ctx, l.cancel)
	return l
}

// Context implements grpc.ServerStream.
func (l *Limited) Context() context.Context { return l.ctx }

// Recv implements proto.Method_DataServer.
func (l *Limited) Recv() (*proto.Record, error) {
	r, err := l.Method_DataServer.Recv()
	if err != nil {
		l.once.Do(func() { close(l.heard) })
	}
	return r, err
}

// Heard is closed when the program has sent everything, and the engine has it in its ring or has
// read it. A session must not be closed before, except after a timeout: nothing else orders the
// Close call after the records of the stream.
func (l *Limited) Heard() <-chan struct{} { return l.heard }

// Release frees the resources of the Limited.
func (l *Limited) Release() {
	l.release()
	l.cancel()
}
