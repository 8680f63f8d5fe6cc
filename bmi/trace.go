package bmi

import (
	"context"
	"errors"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/trace"
)

// A tracer writes the operations and unexpected messages of an instance to a trace. The engine lock guards it. An instance
// without a trace has none.
type tracer struct {
	track  *trace.Track
	method string
}

// A span is what an operation keeps for the trace; zero if it is not traced.
type span struct {
	id    uint64
	at    time.Duration // of the post
	peer  *addrEntry
	begun bool // its beginning is in the trace
}

// The kinds of events of a trace.
var (
	tracedOps = [...]trace.Kind{
		KindSend:           {Name: "send", Category: "bmi", Nums: opNums, Strs: opStrs},
		KindSendUnexpected: {Name: "send unexpected", Category: "bmi", Nums: opNums, Strs: opStrs},
		KindRecv:           {Name: "recv", Category: "bmi", Nums: opNums, Strs: opStrs},
	}
	tracedArrival = trace.Kind{Name: "unexpected", Category: "bmi", Nums: opNums, Strs: opStrs}

	opNums = [...]string{"bytes", "tag", "class", "lane", 5: ""}
	opStrs = [...]string{"peer", "method", "result"}
)

// Trace is the trace that the endpoint writes to; nil if it writes none.
func (e *Endpoint) Trace() *trace.Trace { return e.cfg.Trace }

// openTrace finds the trace: that of the configuration, of the context, or of the environment.
func (cfg *Config) openTrace(ctx context.Context) (err error) {
	if cfg.Trace == nil {
		cfg.Trace = trace.From(ctx)
	}
	if cfg.Trace == nil {
		cfg.Trace, err = trace.OfProcess()
	}
	return err
}

// startTrace makes the tracer of a method that has just been opened.
func (in *instance) startTrace() {
	t := in.ep.cfg.Trace
	if t == nil {
		return
	}
	in.trace = &tracer{track: t.NewTrack(in.info.Name, 0), method: in.info.Name}
	if len(in.info.Addresses) == 0 {
		t.Meta("viaduct_endpoint", in.trace.track, "method", in.info.Name)
	}
	for _, address := range in.info.Addresses {
		t.Meta("viaduct_endpoint", in.trace.track, "method", in.info.Name, "address", address)
	}
}

// flushTrace writes what has been traced, when the endpoint closes.
func (e *Endpoint) flushTrace() {
	if e.cfg.Trace == nil {
		return
	}
	if err := e.cfg.Trace.Flush(); err != nil {
		e.cfg.Log.Warn("the trace is incomplete", "error", err)
	}
}

// posting notes that an operation is given to the method.
func (t *tracer) posting(op *Op, a Addr) {
	op.span = span{id: t.track.NextID(), at: t.track.Now(), peer: a.e}
}

// posted writes that an operation is pending.
func (t *tracer) posted(op *Op) {
	e := t.event(op, trace.Begin)
	op.span.begun = t.track.Put(&e)
}

// ended writes that an operation has ended: with its beginning, if that is not in the trace.
func (t *tracer) ended(op *Op) {
	phase := trace.Whole
	if op.span.begun {
		phase = trace.End
	}
	e := t.event(op, phase)
	e.End, e.Nums[0], e.Strs[2] = t.track.Now(), int64(op.size), resultOf(op.err)
	t.track.Put(&e)
	op.span = span{}
}

func (t *tracer) event(op *Op, phase trace.Phase) trace.Event {
	e := trace.Event{
		Kind: &tracedOps[op.Kind], Phase: phase, ID: op.span.id, At: op.span.at,
		Nums: [...]int64{int64(op.Size), int64(op.Tag), trace.None, int64(op.lane.ctx.index), 5: 0},
		Strs: [...]string{op.span.peer.text, t.method, ""},
	}
	if op.Kind == KindSendUnexpected {
		e.Nums[2] = int64(op.Class)
	}
	return e
}

// sentNow writes a message that was sent without an operation.
func (t *tracer) sentNow(c *Context, to Addr, kind Kind, class Class, tag Tag, size int) {
	now := t.track.Now()
	e := trace.Event{
		Kind: &tracedOps[kind], Phase: trace.Whole, ID: t.track.NextID(), At: now, End: now,
		Nums: [...]int64{int64(size), int64(tag), trace.None, int64(c.index), 5: 0},
		Strs: [...]string{to.e.text, t.method, ""},
	}
	if kind == KindSendUnexpected {
		e.Nums[2] = int64(class)
	}
	t.track.Put(&e)
}

// arrived writes an unexpected message: the time from its arrival until its handler has returned, or until it is in the queue.
func (t *tracer) arrived(at time.Duration, from Addr, class Class, tag Tag, size int) {
	e := trace.Event{
		Kind: &tracedArrival, Phase: trace.Call, At: at, End: t.track.Now(),
		Nums: [...]int64{int64(size), int64(tag), int64(class), trace.None, 5: 0},
		Strs: [...]string{from.e.text, t.method, ""},
	}
	t.track.Put(&e)
}

// resultOf is the result of an operation as text: that of the error's kind, because the whole error may name the peer again.
func resultOf(err error) string {
	if err == nil {
		return ""
	}
	for _, kind := range []error{ErrCancelled, ErrTruncated, ErrClosed, ErrDropped, ErrUnreachable, ErrRefused, ErrPeerFailed} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return err.Error()
}
