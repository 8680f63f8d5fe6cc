//go:build linux

package service

import (
	"context"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/guest"
	"github.com/viaduct-hpc/viaduct/internal/plugins/stream"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// A session is an open method.
type session struct {
	id       uint64
	mem      *memory
	byStream bool
	loop     *guest.Loop
	method   bmi.Method // only called by the loop
	info     *proto.Info

	// ctx ends when the loop has ended.
	ctx    context.Context
	cancel context.CancelFunc
	gone   chan struct{} // closed when the session holds no resources any more

	attached chan struct{} // closed when there is a stream
	detached chan struct{} // closed when the stream has ended

	mu     sync.Mutex
	ended  bool            // no stream can be attached any more
	stream *stream.Limited // nil if there was none
}

func newSession(id uint64, mem *memory, byStream bool) *session {
	one := &session{id: id, mem: mem, byStream: byStream}
	one.gone, one.attached, one.detached = make(chan struct{}), make(chan struct{}), make(chan struct{})
	one.ctx, one.cancel = context.WithCancel(context.Background())
	return one
}

// watch waits until the session has ended and frees its resources.
func (s *Server) watch(one *session) {
	defer s.running.Done()
	defer close(one.gone)
	<-one.loop.Done()
	one.cancel()
	one.mu.Lock()
	one.ended = true
	stream := one.stream
	one.mu.Unlock()
	if stream != nil {
		<-one.detached
	}
	log := s.cfg.Log.With("session", one.id, "method", one.info.Name)
	if err := one.loop.Err(); err != nil {
		log.Error("the session ended", "error", err)
	}
	if err := one.mem.close(); err != nil {
		log.Error("cannot free the memory of the session", "error", err)
	}
}

// Close implements proto.MethodServer.
func (s *Server) Close(ctx context.Context, req *proto.CloseRequest) (*proto.CloseReply, error) {
	one, err := s.find(req.Session)
	if err != nil {
		return nil, err
	}
	drain, cancel := context.WithTimeout(context.Background(), time.Duration(max(req.Drain, 0)))
	go func() {
		defer cancel()
		one.heard(drain)
		one.loop.End(drain)
		<-one.gone
	}()
	select {
	case <-one.gone:
	case <-ctx.Done(): // the session ends in any case
		return nil, contextError(ctx.Err())
	}
	s.forget(one.id)
	return &proto.CloseReply{Failure: failureOf(one.loop.Err())}, nil
}
