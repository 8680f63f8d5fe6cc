package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/refusal"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A Call is one request at the server. Its handler uses it, and so may goroutines that end before the handler returns.
type Call struct {
	Peer    bmi.Addr
	Tag     bmi.Tag
	Header  *proto.Header
	Request proto.Request

	worker *worker
	kind   int
	state  callState
	ctx    callContext
	traced tracedWork // set only if there is a trace

	mu      sync.Mutex
	waiting int  // calls to other servers
	outside bool // the call does not count as running for now
}

// callState is the state of the answer to the client:
//
//	open → answered
//	open → flowing → received → answered   (ReceiveFlow)
//	open → flowing → answered              (SendFlow)
//	flowing → broken
type callState uint8

const (
	callOpen callState = iota
	callFlowing
	callReceived
	callAnswered
	callBroken
)

// callContext is a context that knows its call.
type callContext struct {
	context.Context
	call *Call
}

type callKey struct{}

// Value returns the call for its key.
func (c *callContext) Value(key any) any {
	if key == (callKey{}) {
		return c.call
	}
	return c.Context.Value(key)
}

// Context ends when the server stops and DrainTime is over. Use it, or a context derived from it, for calls to other servers.
func (c *Call) Context() context.Context { return &c.ctx }

// Endpoint is the endpoint that received the request.
func (c *Call) Endpoint() *bmi.Endpoint { return c.worker.s.ep }

// Answered reports whether the last answer was sent, or none can be sent any more.
func (c *Call) Answered() bool { return c.state == callAnswered || c.state == callBroken }

// Reply answers the request. A second answer is ignored, except for a WriteCompletionResp after ReceiveFlow. It does not wait for
// the client.
func (c *Call) Reply(resp proto.Response) {
	if c.Answered() {
		return
	}
	c.state = callAnswered
	rb := c.worker.s.replies.buffer()
	rb.b = proto.AppendResponse(rb.b, resp)
	c.worker.s.replies.send(c.Peer, c.Tag, rb)
}

// Fail answers the request with the status of err, see proto.StatusOf. After ReceiveFlow the status is that of the completion.
func (c *Call) Fail(err error) {
	if c.Answered() {
		return
	}
	op := c.Request.Op()
	if c.state == callReceived {
		op = proto.OpWriteCompletion
	}
	c.state = callAnswered
	status := proto.StatusOf(err)
	if status == proto.OK {
		status = proto.EIO // an error without a status is not success
	}
	c.traced.status = status
	if foundNothing(op, status) {
		c.worker.s.count.foundNothing(op)
	} else {
		c.worker.s.count.failed(c.Request.Op())
	}
	c.worker.s.answer(c.Peer, c.Tag, op, status)
}

// foundNothing reports whether a status other than OK is a normal answer: the request looked for a name or an attribute that does
// not exist.
func foundNothing(op proto.Op, status proto.Status) bool {
	switch op {
	case proto.OpLookupPath:
		return status.Base() == proto.ENOENT
	case proto.OpGetEattr:
		return status.Base() == proto.ENOENT || status.Base() == proto.ENODATA
	}
	return false
}

// answer sends a response without fields.
func (s *Server) answer(to bmi.Addr, tag bmi.Tag, op proto.Op, status proto.Status) {
	rb := s.replies.buffer()
	rb.b = proto.AppendStatus(rb.b, op, status)
	s.replies.send(to, tag, rb)
}

// refuse answers a request of a client that has too many requests waiting.
func (s *Server) refuse(m *bmi.Unexpected) {
	s.opt.Refusals.Note(refusal.QueueFull, s.origin(m.From))
	op := proto.OpProtoError
	if len(m.Data) >= opAt+4 {
		op = opOf(m.Data)
	}
	s.answer(m.From, m.Tag, op, proto.EAGAIN)
	m.Release()
}

// origin is the source of a peer's packets, for the log.
func (s *Server) origin(peer bmi.Addr) string {
	text := peer.String()
	if source := s.ep.SourceAddr(peer); source.IsValid() {
		scheme, _, _ := strings.Cut(text, "://")
		return scheme + "://" + source.String()
	}
	return text
}

// opAt is the offset of the operation in a request.
const opAt = 8

func opOf(b []byte) proto.Op { return proto.Op(binary.LittleEndian.Uint32(b[opAt:])) }

// run decodes a request and runs its handler.
func (w *worker) run(m *arrival) {
	s := w.s
	began := time.Now()
	c := &Call{Peer: m.From, Tag: m.Tag, worker: w, kind: kindOf(m.Data)}
	c.ctx = callContext{Context: s.base, call: c}
	c.traced.came, c.traced.began = m.at, s.trace.now()
	defer func() {
		if p := recover(); p != nil {
			s.count.panics.Add(1)
			s.opt.Log.Error("pvfs: a request made its handler panic", "op", int32(opOrNone(m.Data)), "peer", m.From.String(),
				"panic", p, "stack", string(debug.Stack()))
			if c.Request == nil {
				s.answer(m.From, m.Tag, proto.OpProtoError, proto.EPROTO)
			} else {
				c.Fail(proto.EIO)
			}
		}
		if c.Request != nil {
			took := time.Since(began)
			s.count.took(c.Request.Op(), took)
			if s.opt.Slow > 0 && took >= s.opt.Slow {
				s.slow.Warn("pvfs: a request took long", "op", c.Request.Op().String(), "client", s.origin(m.From), "took", took)
			}
			s.trace.request(c, w.total.Load())
		}
	}()
	h, req, err := proto.ParseRequest(m.Data)
	if err != nil {
		s.opt.Refusals.Note(refusal.Malformed, s.origin(m.From), "bytes", len(m.Data), "err", err)
		s.answer(m.From, m.Tag, proto.OpProtoError, proto.EPROTO)
		return
	}
	c.Header, c.Request = h, req
	s.count.came(req.Op())
	s.handle(c)
	if !c.Answered() {
		s.opt.Log.Error("pvfs: a handler gave no answer", "op", int32(req.Op()), "peer", m.From.String(), slog.Int("state", int(c.state)))
		c.Fail(proto.EIO)
	}
}

func opOrNone(b []byte) proto.Op {
	if len(b) < opAt+4 {
		return 0
	}
	return opOf(b)
}

// outside records that the call in ctx, if any, waits for another server. The result records that it does not wait any more.
func outside(ctx context.Context) func() {
	c, _ := ctx.Value(callKey{}).(*Call)
	if c == nil {
		return nothing
	}
	s := c.worker.s
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting++; c.waiting == 1 {
		c.outside = s.stepOut(c.kind, c.Peer)
		c.traced.outsideSince = s.trace.now()
	}
	return c.backInside
}

func nothing() {}

func (c *Call) backInside() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting--; c.waiting > 0 {
		return
	}
	c.traced.servers.Add(int64(c.worker.s.trace.now() - c.traced.outsideSince))
	if c.outside {
		c.outside = false
		c.worker.s.stepIn(c.kind, c.Peer)
	}
}

// ErrFlow: the client of a flow vanished, stalled or sent wrong messages.
var ErrFlow = errors.New("internal/pvfs/rpc: the flow failed")
