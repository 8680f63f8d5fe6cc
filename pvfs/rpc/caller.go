package rpc

import (
	"context"
	"errors"
	"sync"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A Caller sends requests. All its methods may be called by any goroutine. Who calls does the
// work of its call; a Caller has no goroutine of its own but for calls that were given up.
type Caller struct {
	ep  *bmi.Endpoint
	opt Options

	mu     sync.Mutex
	quiet  sync.Cond // closed, and nothing is busy
	closed bool
	idle   []*session
	busy   map[*session]struct{}
	late   int // of the busy ones
	pieces map[string]int
}

// NewCaller makes a Caller that uses ep, which stays the caller's to close, after Close.
func NewCaller(ep *bmi.Endpoint, opt Options) *Caller {
	c := &Caller{ep: ep, opt: opt.withDefaults(), busy: make(map[*session]struct{}), pieces: make(map[string]int)}
	c.quiet.L = &c.mu
	return c
}

// Close ends the calls under way with ErrClosed, and waits until they gave back all memory.
func (c *Caller) Close() error {
	c.mu.Lock()
	c.closed = true
	for s := range c.busy {
		s.halt()
	}
	for len(c.busy) > 0 {
		c.quiet.Wait()
	}
	idle := c.idle
	c.idle = nil
	c.mu.Unlock()
	var err error
	for _, s := range idle {
		err = errors.Join(err, s.ctx.Close())
	}
	return err
}

// Call sends a request to a server and waits for its response, which it decodes into resp. h
// may be nil. The error is the proto.Status of a response, or a *CallError. Nothing of req and h
// is used any more when Call returns. The Data of a SmallIOResp is put into the capacity of
// what Data was before, if it fits.
func (c *Caller) Call(ctx context.Context, to bmi.Addr, h *proto.Header, req proto.Request, resp proto.Response) error {
	if err := ctx.Err(); err != nil {
		return &CallError{Op: req.Op(), Peer: to.String(), Kind: ErrNotSent, Err: err}
	}
	s, err := c.take()
	if err != nil {
		return &CallError{Op: req.Op(), Peer: to.String(), Kind: ErrNotSent, Err: err}
	}
	defer outside(ctx)()
	stop := s.watch(ctx)
	err = s.call(ctx, to, h, req, resp)
	s.unwatch(stop)
	c.finish(s)
	return err
}

func (s *session) call(ctx context.Context, to bmi.Addr, h *proto.Header, req proto.Request, resp proto.Response) error {
	s.sent, s.answered, s.completed = op{}, op{}, op{}
	if err := s.encode(h, req); err != nil {
		return s.failed(ctx, to, req.Op(), err, ErrNotSent)
	}
	tag, room := nextTag(), s.room(proto.MaxResponse(req.Op()))
	if err := s.recv(&s.answered, to, tag, room); err != nil {
		return s.failed(ctx, to, req.Op(), err, ErrNotSent)
	}
	if err := s.dispatch(to, tag); err != nil {
		return s.failed(ctx, to, req.Op(), err, ErrNotSent)
	}
	if err := s.await(after(s.caller.opt.Timeout)); err != nil {
		if givenUp(err) {
			s.left = leftover{from: to, tag: tag}
		}
		return s.failed(ctx, to, req.Op(), err, nil)
	}
	if err := decode(room[:s.answered.size], resp); err != nil {
		if !isStatus(err) {
			err = s.failed(ctx, to, req.Op(), err, ErrBadAnswer)
		}
		return err
	}
	return nil
}

// decode parses a response. A status is returned as it is.
func decode(b []byte, resp proto.Response) error {
	small, ok := resp.(*proto.SmallIOResp)
	if !ok {
		return proto.ParseResponse(b, resp)
	}
	into := small.Data[:0]
	if err := proto.ParseResponse(b, resp); err != nil {
		return err
	}
	small.Data = append(into, small.Data...)
	return nil
}

// isStatus tells whether err is what a server answered.
func isStatus(err error) bool {
	_, ok := err.(proto.Status)
	return ok
}
