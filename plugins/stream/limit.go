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

// Limit makes a stream whose context ends with ctx, too, which is the session's. Release
// is for after Serve.
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

// Heard is closed once the program has said all, and the engine has it in its ring or
// before it: a session is closed only then, or when that takes too long, for nothing else
// orders the call that closes it with what the stream carries.
func (l *Limited) Heard() <-chan struct{} { return l.heard }

// Release frees what the Limited has.
func (l *Limited) Release() {
	l.release()
	l.cancel()
}
