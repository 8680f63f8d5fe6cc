package rpc

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A Caller sends requests. Its methods may be called by any goroutine. A call is carried out on the goroutine of its caller; a
// Caller has goroutines only for calls that were given up.
type Caller struct {
	ep    *bmi.Endpoint
	opt   Options
	trace *tracer

	mu     sync.Mutex
	quiet  sync.Cond // closed, and busy is empty
	closed bool
	idle   []*session
	busy   map[*session]struct{}
	late   int // of the busy sessions
	pieces map[string]int
}

// NewCaller makes a Caller that uses ep. The caller of NewCaller closes ep, after Close.
func NewCaller(ep *bmi.Endpoint, opt Options) *Caller {
	c := &Caller{ep: ep, opt: opt.withDefaults(), busy: make(map[*session]struct{}), pieces: make(map[string]int)}
	c.trace = newTracer(ep, "calls")
	c.quiet.L = &c.mu
	return c
}

// Close ends the calls under way with ErrClosed, and waits until they no longer use any memory of their callers.
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
	c.trace.close()
	var err error
	for _, s := range idle {
		err = errors.Join(err, s.ctx.Close())
	}
	return err
}

// Call sends a request to a server, waits for its response, and decodes it into resp. h may be nil. The error is the proto.Status
// of a response, or a *CallError. After Call returns, req and h are not used any more. The Data of a SmallIOResp uses the
// capacity of the previous Data, if that is enough.
func (c *Caller) Call(ctx context.Context, to bmi.Addr, h *proto.Header, req proto.Request, resp proto.Response) error {
	p := c.Begin(ctx, to, h, req, resp)
	return p.Wait()
}

// A Pending is a sent request. Its response is still to be waited for.
type Pending struct {
	s     *session
	ctx   context.Context
	to    bmi.Addr
	op    proto.Op
	resp  proto.Response
	tag   bmi.Tag
	room  []byte
	until time.Time
	stop  func() bool
	err   error
	span  *tracedSpan
}

// Begin is the first half of Call: it sends the request, so that several may be under way. Wait is the second half, and must be
// called once. The header, the request and the response are in use until Wait returns.
func (c *Caller) Begin(ctx context.Context, to bmi.Addr, h *proto.Header, req proto.Request, resp proto.Response) Pending {
	p := Pending{ctx: ctx, to: to, op: req.Op(), resp: resp}
	err := ctx.Err()
	if err == nil {
		p.s, err = c.take()
	}
	if err != nil {
		p.err = &CallError{Op: p.op, Peer: to.String(), Kind: ErrNotSent, Err: err}
		return p
	}
	p.stop = p.s.watch(ctx)
	if err := p.send(h, req); err != nil {
		p.err = p.s.failed(ctx, to, p.op, err, ErrNotSent)
	}
	return p
}

// send posts the receives and the request.
func (p *Pending) send(h *proto.Header, req proto.Request) error {
	s := p.s
	s.sent, s.answered, s.completed = op{}, op{}, op{}
	if err := s.encode(h, req); err != nil {
		return err
	}
	p.tag, p.room = nextTag(), s.room(proto.MaxResponse(p.op))
	p.until = after(s.caller.opt.Timeout)
	p.span = s.caller.trace.call(p.to, p.tag, req)
	if err := s.recv(&s.answered, p.to, p.tag, p.room); err != nil {
		return err
	}
	return s.dispatch(p.to, p.tag)
}

// Wait waits for the response, decodes it, and returns what Call does.
func (p *Pending) Wait() error {
	s := p.s
	if s == nil {
		return p.err
	}
	defer outside(p.ctx)()
	err := p.err
	if err == nil {
		err = p.receive()
	}
	s.unwatch(p.stop)
	s.caller.trace.returned(p.span, bytesIn(p.resp), err)
	s.caller.finish(s)
	return err
}

func (p *Pending) receive() error {
	s := p.s
	if err := s.await(p.until); err != nil {
		if givenUp(err) {
			s.left = leftover{from: p.to, tag: p.tag}
		}
		return s.failed(p.ctx, p.to, p.op, err, nil)
	}
	err := decode(p.room[:s.answered.size], p.resp)
	if err != nil && !isStatus(err) {
		err = s.failed(p.ctx, p.to, p.op, err, ErrBadAnswer)
	}
	return err
}

// decode parses a response. A status is returned as an error.
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

// isStatus reports whether err is a status from a server.
func isStatus(err error) bool {
	_, ok := err.(proto.Status)
	return ok
}
