//go:build linux

package service

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
	"github.com/viaduct-hpc/viaduct/plugins/wire"
)

// SessionsMax bounds the sessions of a plugin, those included that ended by themselves and
// were not closed.
const SessionsMax = 1 << 10

// Config is what a Server works with.
type Config struct {
	// Drivers are the methods that are offered.
	Drivers []bmi.Driver
	// Version is the plugin's, for people.
	Version string
	// Log may be nil.
	Log *slog.Logger
	// Descriptors waits for what the program passed for a session, which becomes the
	// Server's: the rings, the arena, the bell that the program rings, the bell that it
	// waits for. Nil: there are sessions by stream only.
	Descriptors func(ctx context.Context, session uint64) ([]int, error)
}

// A Server serves proto.Method.
type Server struct {
	proto.UnimplementedMethodServer
	cfg   Config
	clock func() time.Duration

	mu       sync.Mutex
	sessions map[uint64]*session // nil while one opens
	closed   bool
	running  sync.WaitGroup // sessions that hold anything, those included that open
}

// New makes a Server.
func New(cfg Config) *Server {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	start := time.Now()
	return &Server{cfg: cfg, clock: func() time.Duration { return time.Since(start) }, sessions: make(map[uint64]*session)}
}

// Shutdown ends all sessions, without letting them send what is under way, and waits for
// that. No session is opened any more.
func (s *Server) Shutdown() {
	s.mu.Lock()
	s.closed = true
	for _, one := range s.sessions {
		if one != nil {
			one.loop.End(over)
		}
	}
	s.mu.Unlock()
	s.running.Wait()
}

// over is a context that is over.
var over = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Describe implements proto.MethodServer.
func (s *Server) Describe(context.Context, *proto.DescribeRequest) (*proto.DescribeReply, error) {
	reply := &proto.DescribeReply{Version: valid(s.cfg.Version), Rings: s.cfg.Descriptors != nil, RingsVersion: wire.Version}
	for _, d := range s.cfg.Drivers {
		reply.Methods = append(reply.Methods, &proto.Offer{Name: valid(d.Name())})
	}
	return reply, nil
}

func (s *Server) driver(name string) (bmi.Driver, error) {
	for _, d := range s.cfg.Drivers {
		if d.Name() == name {
			return d, nil
		}
	}
	return nil, fmt.Errorf("%w %q: this plugin does not have it", bmi.ErrUnknownMethod, name)
}

// reserve keeps a place for a session, which put or release ends.
func (s *Server) reserve(id uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch _, taken := s.sessions[id]; {
	case s.closed:
		return fmt.Errorf("%w: the plugin", bmi.ErrClosed)
	case id == 0 || taken:
		return fmt.Errorf("%w: session %d, which is there already, or no number for one", bmi.ErrInvalid, id)
	case len(s.sessions) >= SessionsMax:
		return fmt.Errorf("%w: %d sessions, the most that a plugin has", bmi.ErrInvalid, SessionsMax)
	}
	s.sessions[id] = nil
	s.running.Add(1)
	return nil
}

// release gives a place up.
func (s *Server) release(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, id)
	s.running.Done()
}

// put takes a place that was kept; the session runs.
func (s *Server) put(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[one.id] = one
	if s.closed {
		one.loop.End(over)
	}
}

// find is an open session; the error is gRPC's.
func (s *Server) find(id uint64) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.sessions[id]; one != nil {
		return one, nil
	}
	return nil, status.Errorf(codes.NotFound, "the plugin has no session %d", id)
}

// forget takes a session out of the table.
func (s *Server) forget(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, id)
}
