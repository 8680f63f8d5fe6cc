//go:build linux

package service

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/viaduct-hpc/viaduct/internal/plugins/stream"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// Data implements proto.MethodServer. A session ends if its stream ends first: nothing can be sent
// to its program any more.
func (s *Server) Data(d proto.Method_DataServer) error {
	attach, err := d.Recv()
	if err != nil {
		return err
	}
	if attach.Kind != proto.Kind_ATTACH {
		return status.Errorf(codes.InvalidArgument, "the first record of a stream is ATTACH, not %v", attach.Kind)
	}
	one, err := s.find(attach.Session)
	if err != nil {
		return err
	}
	limited := stream.Limit(one.ctx, d)
	defer limited.Release()
	detach, err := one.attach(limited)
	if err != nil {
		return err
	}
	err = stream.Serve(limited, one.mem.rings, one.mem.arena.Mem, one.mem.toProgram, one.mem.toPlugin.Ring)
	early := one.ctx.Err() == nil
	detach()
	if early {
		one.loop.End(over)
		s.cfg.Log.Warn("the stream of a session ended", "session", one.id, "error", err)
	}
	if err != nil {
		return status.Error(codes.Aborted, valid(err.Error()))
	}
	return nil
}

// attach gives a session its stream. The session's memory is kept until detach.
func (one *session) attach(l *stream.Limited) (detach func(), err error) {
	one.mu.Lock()
	defer one.mu.Unlock()
	switch {
	case !one.byStream:
		return nil, status.Errorf(codes.FailedPrecondition, "session %d has rings", one.id)
	case one.ended:
		return nil, status.Errorf(codes.NotFound, "session %d is over", one.id)
	case one.stream != nil:
		return nil, status.Errorf(codes.FailedPrecondition, "session %d has a stream already", one.id)
	}
	one.stream = l
	close(one.attached)
	return func() { close(one.detached) }, nil
}

// heard waits until the session has all records that its program sent, or may not drain any longer.
func (one *session) heard(drain context.Context) {
	if !one.byStream {
		return
	}
	select {
	case <-one.attached: // Close may overtake the call that opens the stream
	case <-drain.Done():
		return
	}
	select {
	case <-one.stream.Heard():
	case <-one.detached:
	case <-drain.Done():
	}
}
