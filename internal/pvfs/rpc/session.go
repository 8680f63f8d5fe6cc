package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A session has everything for one call at a time: a pump, buffers, and room for each operation. A Caller keeps idle sessions.
type session struct {
	*pump
	watched
	caller *Caller

	request []byte // the encoded request
	answer  []byte // room for its response
	big     []byte // the same, if it is too large to keep

	sent, answered, completed op
	completion                [64]byte
	parts                     []part // of a flow
	cut                       cutter
	left                      leftover
}

// lastTag is the last tag used in this process: all Callers of one endpoint must use different tags.
var lastTag atomic.Uint32

// nextTag is the tag of a new request. 0 is skipped.
func nextTag() bmi.Tag {
	for {
		if t := lastTag.Add(1); t != 0 {
			return bmi.Tag(t)
		}
	}
}

// take returns a session that no other call uses.
func (c *Caller) take() (*session, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, fmt.Errorf("internal/pvfs/rpc: %w", ErrClosed)
	}
	if n := len(c.idle); n > 0 {
		s := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.busy[s] = struct{}{}
		c.mu.Unlock()
		return s, nil
	}
	c.mu.Unlock()
	p, err := newPump(c.ep)
	if err != nil {
		return nil, err
	}
	s := &session{pump: p, caller: c}
	s.watched = watched{p: p, ended: make(chan struct{}, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = p.ctx.Close() // nothing was posted in it
		return nil, fmt.Errorf("internal/pvfs/rpc: %w", ErrClosed)
	}
	c.busy[s] = struct{}{}
	return s, nil
}

// give ends the use of a session. Nothing is pending.
func (c *Caller) give(s *session) {
	s.halted.Store(false)
	s.giveBig()
	c.mu.Lock()
	delete(c.busy, s)
	keep := !c.closed && len(c.idle) < sessionsKept
	if keep {
		c.idle = append(c.idle, s)
	}
	if c.closed && len(c.busy) == 0 {
		c.quiet.Broadcast()
	}
	c.mu.Unlock()
	if !keep {
		_ = s.ctx.Close() // nothing is pending
	}
}

// giveBig returns the memory of a large answer to the pool.
func (s *session) giveBig() {
	if s.big != nil {
		big := s.big // the pool must not point into the session
		bigAnswers.Put(&big)
		s.big = nil
	}
}

var bigAnswers = sync.Pool{New: func() any { b := []byte(nil); return &b }}

// room returns a buffer for a response of n bytes.
func (s *session) room(n int) []byte {
	n = max(n, 64)
	if n > replyKeptBytesMax {
		if s.big == nil {
			s.big = *bigAnswers.Get().(*[]byte)
		}
		if cap(s.big) < n {
			s.big = make([]byte, n)
		}
		return s.big[:n]
	}
	if cap(s.answer) < n {
		s.answer = make([]byte, n)
	}
	return s.answer[:n]
}

// encode encodes the request and checks its size.
func (s *session) encode(h *proto.Header, req proto.Request) error {
	if h == nil {
		h = &noHeader
	}
	s.request = proto.AppendRequest(s.request[:0], h, req)
	if n := len(s.request); n > proto.MaxUnexpected {
		return fmt.Errorf("%w: %d bytes, %d are allowed", ErrTooLong, n, proto.MaxUnexpected)
	}
	return nil
}

var noHeader proto.Header

// dispatch sends the request, after its receives were posted.
func (s *session) dispatch(to bmi.Addr, tag bmi.Tag) error {
	posted, err := s.ctx.PostSendUnexpected(to, 0, tag, s.request, &s.sent)
	return s.begun(&s.sent, posted, err)
}

// await waits until the request is sent and its response has arrived. Without a response it returns the reason.
func (s *session) await(until time.Time) error {
	for {
		switch {
		case s.sent.err != nil:
			return s.sent.err
		case !s.answered.pending && s.answered.err != nil:
			return s.answered.err
		case !s.answered.pending && !s.sent.pending:
			return nil
		}
		if err := s.wait(until); err != nil {
			return err
		}
	}
}

// failed makes the error of a call. kind is nil if it depends on how far the request got.
func (s *session) failed(ctx context.Context, to bmi.Addr, op proto.Op, err, kind error) error {
	if kind == nil {
		switch {
		case s.sent.err != nil && neverSent(s.sent.err):
			kind = ErrNotSent
		case errors.Is(err, bmi.ErrTruncated):
			kind = ErrBadAnswer
		default:
			kind = ErrNoAnswer
		}
	}
	return &CallError{Op: op, Peer: to.String(), Kind: kind, Err: s.reason(ctx, err)}
}

// reason is why a wait ended: the caller's context, Close, or err.
func (s *session) reason(ctx context.Context, err error) error {
	if !errors.Is(err, errHalted) {
		return err
	}
	if cause := ctx.Err(); cause != nil {
		if errors.Is(cause, context.DeadlineExceeded) {
			return fmt.Errorf("%w: %w", ErrTimeout, cause)
		}
		return cause
	}
	return ErrClosed
}
