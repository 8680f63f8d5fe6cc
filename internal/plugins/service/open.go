//go:build linux

package service

import (
	"context"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/plugins/guest"
	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// descriptorsWithin is how long to wait for the descriptors of a session. The program passes them
// before it calls Open.
const descriptorsWithin = 10 * time.Second

// Open implements proto.MethodServer.
func (s *Server) Open(ctx context.Context, req *proto.OpenRequest) (*proto.OpenReply, error) {
	if err := s.reserve(req.Session); err != nil {
		return &proto.OpenReply{Failure: failureOf(err)}, nil
	}
	one, err := s.open(ctx, req)
	if err != nil {
		s.release(req.Session)
		s.cfg.Log.Warn("cannot open a session", "session", req.Session, "method", req.Method, "error", err)
		return &proto.OpenReply{Failure: failureOf(err)}, nil
	}
	s.put(one)
	go s.watch(one)
	if err := ctx.Err(); err != nil { // the program will not get the answer
		one.loop.End(over)
		s.forget(one.id)
		return &proto.OpenReply{Failure: failureOf(err)}, nil
	}
	return &proto.OpenReply{Info: one.info}, nil
}

// open makes a session and starts it. The error is sent to the program.
func (s *Server) open(ctx context.Context, req *proto.OpenRequest) (_ *session, err error) {
	// Take the descriptors first; otherwise they would never be taken.
	mem, err := s.memory(ctx, req)
	if err != nil {
		return nil, err
	}
	one := newSession(req.Session, mem, !req.Rings)
	defer func() {
		if err != nil {
			_ = mem.close() // the other error is more important
			one.cancel()
		}
	}()
	driver, err := s.driver(req.Method)
	if err != nil {
		return nil, err
	}
	if one.loop, err = s.loop(mem, one.byStream); err != nil {
		return nil, err
	}
	cfg := bmi.MethodConfig{
		Host: one.loop.Host(), Listen: req.Listen, Clock: s.clock,
		Log: s.cfg.Log.With("method", req.Method, "session", req.Session),
	}
	if len(req.Options) > 0 {
		cfg.Options = req.Options
	}
	if one.method, err = driver.Open(ctx, cfg); err != nil {
		return nil, err
	}
	if one.info, err = describe(one, mem); err != nil {
		_ = one.method.Close(over) // it has done nothing yet
		return nil, err
	}
	one.loop.Start(one.method)
	return one, nil
}

func (s *Server) memory(ctx context.Context, req *proto.OpenRequest) (*memory, error) {
	if !req.Rings {
		return private()
	}
	if s.cfg.Descriptors == nil {
		return nil, fmt.Errorf("%w: this plugin has no shared memory with its program", bmi.ErrNotSupported)
	}
	ctx, cancel := context.WithTimeout(ctx, descriptorsWithin)
	defer cancel()
	fds, err := s.cfg.Descriptors(ctx, req.Session)
	if err != nil {
		return nil, err
	}
	return shared(fds)
}

func (s *Server) loop(mem *memory, byStream bool) (*guest.Loop, error) {
	in, err := ring.NewReader(mem.rings.ToPlugin)
	if err != nil {
		return nil, err
	}
	out, err := ring.NewWriter(mem.rings.ToProgram)
	if err != nil {
		return nil, err
	}
	cfg := guest.LoopConfig{
		Config: guest.Config{In: in, Out: out, Arena: mem.arena.Mem, Bell: mem.toProgram.Ring},
		Rung:   mem.toPlugin, Clock: s.clock,
	}
	if byStream {
		cfg.SpinMax = -1 // the awaited records come through the runtime's poller, which polling here would keep from running
	}
	return guest.NewLoop(cfg), nil
}

// describe returns the description of a method for the program, or an error if the method's records
// would not fit in the rings.
func describe(one *session, mem *memory) (*proto.Info, error) {
	info := one.method.Info()
	room := ring.RecordMax(len(mem.rings.ToProgram) - ring.HeaderBytes)
	if need := wire.HeadBytes + max(wire.TextMax, guest.InlineMax, info.MaxUnexpectedSize); room < need {
		return nil, fmt.Errorf("%w: rings with records of %d bytes, method %s needs %d: give rings at least 4 times that",
			bmi.ErrInvalid, room, info.Name, need)
	}
	if one.byStream { // half of the arena is for sends, half for receives
		info.MaxExpectedSize = min(info.MaxExpectedSize, len(mem.arena.Mem)/2)
	}
	return infoOf(&info, one.method), nil
}
