//go:build linux

package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// on runs fn in the loop of a session. failure is fn's error, or the reason why it did not run
// although there is such a session. err is an error of gRPC; fn may then still run, but its result
// is lost.
func (s *Server) on(ctx context.Context, id uint64, fn func(bmi.Method) error) (failure, err error) {
	one, err := s.find(id)
	if err != nil {
		return nil, err
	}
	var failed error
	var task func()
	if fn != nil {
		task = func() { failed = fn(one.method) }
	}
	failure = one.loop.Do(ctx, task)
	switch {
	case failure == nil:
		return failed, nil
	case errors.Is(failure, ctx.Err()):
		return nil, contextError(failure)
	}
	return failure, nil
}

func contextError(err error) error { return status.FromContextError(err).Err() }

// text returns an address as it is sent.
func text(a bmi.Addr) (string, error) {
	if s := a.String(); utf8.ValidString(s) {
		return s, nil
	}
	return "", fmt.Errorf("%w %q: it is not UTF-8", bmi.ErrBadAddress, a.String())
}

// Resolve implements proto.MethodServer.
func (s *Server) Resolve(ctx context.Context, req *proto.ResolveRequest) (*proto.ResolveReply, error) {
	var address string
	failure, err := s.on(ctx, req.Session, func(m bmi.Method) error {
		a, err := m.Resolve(req.Address)
		if err == nil {
			address, err = text(a)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case failure != nil:
		return &proto.ResolveReply{Failure: failureOf(failure)}, nil
	}
	return &proto.ResolveReply{Address: address}, nil
}

// Check implements proto.MethodServer.
func (s *Server) Check(ctx context.Context, req *proto.CheckRequest) (*proto.CheckReply, error) {
	failure, err := s.on(ctx, req.Session, func(m bmi.Method) error {
		checker, ok := m.(bmi.Checker)
		if !ok {
			return fmt.Errorf("%w: this method does not tell whether a peer is alive", bmi.ErrNotSupported)
		}
		a, err := m.Resolve(req.Address)
		if err == nil {
			err = checker.Check(bmi.HostPeer(a))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &proto.CheckReply{Failure: failureOf(failure)}, nil
}

// InRange implements proto.MethodServer.
func (s *Server) InRange(ctx context.Context, req *proto.InRangeRequest) (*proto.InRangeReply, error) {
	var inside bool
	failure, err := s.on(ctx, req.Session, func(m bmi.Method) error {
		ranger, ok := m.(bmi.Ranger)
		if !ok {
			return fmt.Errorf("%w: this method has no address ranges", bmi.ErrNotSupported)
		}
		a, err := m.Resolve(req.Address)
		if err == nil {
			inside, err = ranger.InRange(bmi.HostPeer(a), req.Pattern)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case failure != nil:
		return &proto.InRangeReply{Failure: failureOf(failure)}, nil
	}
	return &proto.InRangeReply{Inside: inside}, nil
}

// Stats implements proto.MethodServer. The counters of a method that does not count are 0. The loop of
// the session is counted as one of its own.
func (s *Server) Stats(ctx context.Context, req *proto.StatsRequest) (*proto.StatsReply, error) {
	var counts struct {
		Method bmi.MethodStats
		Peers  []bmi.PeerStats
	}
	failure, err := s.on(ctx, req.Session, func(m bmi.Method) error {
		if st, ok := m.(bmi.Statser); ok {
			counts.Method, counts.Peers = st.Stats([]bmi.PeerStats{})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if one, err := s.find(req.Session); err == nil {
		counts.Method.Own = append(counts.Method.Own, about.Counts("loop", one.loop.Stats())...)
	}
	if failure != nil {
		return nil, status.Error(codes.Aborted, valid(failure.Error()))
	}
	data, err := json.Marshal(&counts)
	if err != nil {
		return nil, status.Error(codes.Internal, valid(err.Error()))
	}
	return &proto.StatsReply{Json: data}, nil
}

// Ping implements proto.MethodServer. A session that is closing answers at once, however long its
// method takes to send pending messages. A session that ended because of its program answers with
// the reason.
func (s *Server) Ping(ctx context.Context, req *proto.PingRequest) (*proto.PingReply, error) {
	failure, err := s.on(ctx, req.Session, nil)
	if err != nil {
		return nil, err
	}
	if failure != nil {
		return nil, status.Error(codes.Aborted, valid(failure.Error()))
	}
	return &proto.PingReply{}, nil
}
