//go:build linux

package service

import (
	"context"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/plugins/guest"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
	"github.com/viaduct-hpc/viaduct/plugins/stream"
)

// A session is an open method.
type session struct {
	id       uint64
	mem      *memory
	byStream bool
	loop     *guest.Loop
	method   bmi.Method // called by the loop alone
	info     *proto.Info

	// ctx is over once the loop is.
	ctx    context.Context
	cancel context.CancelFunc
	gone   chan struct{} // closed once the session holds nothing any more

	attached chan struct{} // closed once there is a stream
	detached chan struct{} // closed once it has ended

	mu     sync.Mutex
	ended  bool            // nobody attaches any more
	stream *stream.Limited // nil: there was none
}

func newSession(id uint64, mem *memory, byStream bool) *session {
	one := &session{id: id, mem: mem, byStream: byStream}
	one.gone, one.attached, one.detached = make(chan struct{}), make(chan struct{}), make(chan struct{})
	one.ctx, one.cancel = context.WithCancel(context.Background())
	return one
}

// watch waits until the session is over and gives back what it held.
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
	case <-ctx.Done(): // the session ends all the same
		return nil, contextError(ctx.Err())
	}
	s.forget(one.id)
	return &proto.CloseReply{Failure: failureOf(one.loop.Err())}, nil
}
