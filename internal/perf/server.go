package perf

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
)

const (
	// serveWait is how long the server waits for a request before it checks
	// whether it should stop.
	serveWait = 100 * time.Millisecond
	// replyTimeMax is how long a client may take to accept a reply.
	replyTimeMax = 10 * time.Second
)

// A Server answers pings and is the other side of measurements, for one client at
// a time; requests of others wait meanwhile. It takes the unexpected messages of
// all classes: over a method without classes, requests have class 0.
//
// A client may have no address that can be looked up, so the server knows it only
// as the sender of its request.
type Server struct {
	ep      *bmi.Endpoint
	log     *slog.Logger
	replies *bmi.Context
	plain   []byte
}

// NewServer makes a server at an endpoint. log receives the errors of clients. The caller must call Serve.
func NewServer(ep *bmi.Endpoint, log *slog.Logger) (*Server, error) {
	replies, err := ep.OpenContext()
	if err != nil {
		return nil, fmt.Errorf("perf: open a context: %w", err)
	}
	return &Server{ep: ep, log: log, replies: replies}, nil
}

// Serve answers until ctx ends. The calling goroutine should be bound to its core.
func (s *Server) Serve(ctx context.Context) error {
	defer func() { _ = s.replies.Close() }()
	var taken [1]bmi.Unexpected
	for ctx.Err() == nil {
		n, err := s.ep.TestUnexpected(taken[:], serveWait)
		if err != nil {
			return fmt.Errorf("perf: wait for requests: %w", err)
		}
		for i := range taken[:n] {
			u := &taken[i]
			if err := s.answer(ctx, u); err != nil {
				s.log.Warn("request failed", "from", u.From.String(), "error", err)
			}
			u.Release()
		}
	}
	return nil
}

func (s *Server) answer(ctx context.Context, u *bmi.Unexpected) error {
	r, _, err := parseRequest(u.Data)
	if err != nil {
		// Whatever it was, its sender may be waiting for an answer.
		_ = s.reply(ctx, u, appendReply(nil, err))
		return err
	}
	if r.kind == kindPing {
		return s.reply(ctx, u, u.Data)
	}
	side := side{ep: s.ep, peer: u.From, plain: s.plain}
	l, closeLane, err := side.open(r, false)
	if err != nil {
		_ = s.reply(ctx, u, appendReply(nil, err))
		return err
	}
	s.plain = side.plain
	if err = s.reply(ctx, u, appendReply(nil, nil)); err == nil {
		err = s.steps(l, r)
	}
	if err != nil {
		s.plain = nil // after a failed run a method may still use it
	}
	if e := closeLane(); err == nil {
		err = e
	}
	return err
}

// steps executes the run with the collector off, as on the client.
func (s *Server) steps(l *lane, r request) error {
	_, err := timeBatches(plan{batches: 1, steps: r.steps}, func(n int) error {
		return l.run(r.test, false, n, r.window)
	})
	return err
}

func (s *Server) reply(ctx context.Context, u *bmi.Unexpected, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, replyTimeMax)
	defer cancel()
	if err := s.replies.Send(ctx, u.From, u.Tag, data); err != nil {
		return fmt.Errorf("perf: reply: %w", err)
	}
	return nil
}
