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
	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
	"github.com/viaduct-hpc/viaduct/plugins/proto"
)

// SessionsMax limits the sessions of a plugin, including those that ended by themselves and were
// not closed.
const SessionsMax = 1 << 10

// Config configures a Server.
type Config struct {
	// Drivers are the methods that the plugin offers.
	Drivers []bmi.Driver
	// Version is the plugin's version, for display.
	Version string
	// Log may be nil.
	Log *slog.Logger
	// Descriptors waits for the descriptors that the program passed for a session, which then
	// belong to the Server: the rings, the arena, the bell that the program rings, and the bell
	// that it waits for. If it is nil, all sessions use streams.
	Descriptors func(ctx context.Context, session uint64) ([]int, error)
}

// A Server serves proto.Method.
type Server struct {
	proto.UnimplementedMethodServer
	cfg   Config
	clock func() time.Duration

	mu       sync.Mutex
	sessions map[uint64]*session // nil for a session that is being opened
	closed   bool
	running  sync.WaitGroup // sessions that hold resources, including those that are being opened
}

// New makes a Server.
func New(cfg Config) *Server {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	start := time.Now()
	return &Server{cfg: cfg, clock: func() time.Duration { return time.Since(start) }, sessions: make(map[uint64]*session)}
}

// Shutdown ends all sessions without sending pending messages, and waits for their end. Afterwards
// no session can be opened.
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

// over is a context that has ended.
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

// reserve reserves a place for a session until put or release.
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

// release removes a reserved place.
func (s *Server) release(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, id)
	s.running.Done()
}

// put stores a running session in its reserved place.
func (s *Server) put(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[one.id] = one
	if s.closed {
		one.loop.End(over)
	}
}

// find returns an open session; the error is one of gRPC.
func (s *Server) find(id uint64) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.sessions[id]; one != nil {
		return one, nil
	}
	return nil, status.Errorf(codes.NotFound, "the plugin has no session %d", id)
}

// forget removes a session from the table.
func (s *Server) forget(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, id)
}
