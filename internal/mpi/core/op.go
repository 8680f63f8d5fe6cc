package core

import (
	"context"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// An op is one send or receive, or another operation that a Request stands for. Ops are reused;
// each use is a life with a number. While the op is active, Engine.mu guards everything except
// ended and begun.
//
//	                    collected (persistent)
//	          ┌──────────────────────────────────────┐
//	          v        post                          │
//	free ─> idle ───────────────> active ────────> done ──> free
//	                              waits in a backlog, a match table or at a peer
//
// A call that waits without Engine.mu reads only ended, which is the last field to change in a
// life.
type op struct {
	e     *Engine
	ended uint32        // atomic: the latest life that has ended; of an opSent: one that has not begun yet
	begun atomic.Uint32 // of a persistent op: the latest life; 0: none yet
	life  uint32        // the latest life; ended ≤ life ≤ ended+1, but for an opSent
	state opState

	kind       opKind
	mode       Mode
	persistent bool
	detached   bool // no call will collect it: it frees itself
	cancelling bool // CANCEL was sent
	staged     bool // a receive whose memory bmi never gets; its message moves through staging memory
	abandoned  bool // staged, and its memory belongs to the caller again; late data is discarded

	scope *Scope
	only  *Proc // the peer it was posted for; nil: any source, or ProcNull
	proc  *Proc // the peer: only, or the sender of the message that a receive from any source got
	buf   Buffer
	size  int // of buf's data in bytes
	bits  matchbits.Bits
	mask  matchbits.Bits
	st    Status
	err   error

	at    place
	ref   matchbits.Ref   // in atPosted
	turn  uint64          // in atPosted: when it was put in the table, by Engine.turns
	early *early          // in atEarly and atTaken: its message
	id    uint32          // in atPeer: the id of the send for the peer
	links queue.Links[op] // in Proc.ops, or in Scope.anys
	next  *op             // in Proc.backlog, in Engine.recvs, or in the free list
	move  transfer        // in atMove
	end   func()          // in opOther: asks for the end of the operation
}

// An opState is the state of an op in its life.
type opState uint8

const (
	opFree   opState = iota
	opIdle           // persistent, and not started or already collected
	opActive         // waits for something
	opDone           // ended, and not collected
)

type opKind uint8

const (
	opSend opKind = iota
	opRecv
	opSent  // a send that had ended before it needed an op
	opOther // ended by NewOp's function
)

// A place is where an active op waits.
type place uint8

const (
	nowhere   place = iota
	atBacklog       // a send that waits for the window, in Proc.backlog
	atPosted        // a receive in the match table
	atPeer          // a send that waits for CTS or ACK, in Engine.sends
	atNetwork       // an eager send whose memory is in use by bmi
	atMove          // data is moving
	atEarly         // a send to this process, in the match table
	atTaken         // a send to this process whose message a matched probe has taken
)

// Link implements queue.Linked.
func (o *op) Link() **op { return &o.next }

// acquire returns an op for a new request.
func (e *Engine) acquire(kind opKind, s *Scope) *op {
	o := e.freeOps
	if o == nil {
		o = &op{e: e}
	} else {
		e.freeOps = o.next
	}
	o.prepare(kind, s)
	return o
}

// sentOp returns an op for a send that has ended already. All these ops are alike, so nothing but
// the life changes; ended runs ahead of it, because to store it each time would be a locked
// instruction for every message.
func (e *Engine) sentOp() *op {
	o := e.freeSent
	if o == nil {
		o = &op{e: e, kind: opSent, st: Empty}
	} else {
		e.freeSent = o.next
	}
	if o.life++; o.life == persistentLife {
		o.life++
	}
	if int32(atomic.LoadUint32(&o.ended)-o.life) < 0 {
		atomic.StoreUint32(&o.ended, o.life+sentAhead)
	}
	o.state = opDone
	return o
}

// sentAhead is how many lives of an opSent are marked as ended at once.
const sentAhead = 1 << 16

// prepare resets an op, except for its number of lives.
func (o *op) prepare(kind opKind, s *Scope) {
	o.kind, o.scope = kind, s
	o.mode, o.at, o.state = Standard, nowhere, opIdle
	o.persistent, o.detached, o.cancelling = false, false, false
	o.staged, o.abandoned = false, false
	o.st, o.err, o.next = Status{}, nil, nil
}

// activate begins a life.
func (o *op) activate() {
	if o.life++; o.life == 0 {
		o.life++ // 0 is persistentLife
	}
	o.state, o.cancelling = opActive, false
	if o.persistent {
		o.begun.Store(o.life)
	}
}

// recycle frees an op: every Request that names it is null from now on.
func (e *Engine) recycle(o *op) {
	o.state = opFree
	if o.persistent {
		return // a Request could not distinguish the next use of the op from this one
	}
	if o.kind == opSent {
		o.next, e.freeSent = e.freeSent, o
		return
	}
	o.scope, o.only, o.proc, o.early, o.end = nil, nil, nil, nil, nil
	o.buf = Buffer{}
	o.next, e.freeOps = e.freeOps, o
}

// blocker returns an op for a call that waits for its end. No other goroutine sees the op, so it
// need not be collected under Engine.mu.
func (e *Engine) blocker() *op {
	if o, ok := e.blockers.Get().(*op); ok {
		return o
	}
	return &op{e: e}
}

// outcome waits for the end of a blocker, and frees it.
func (o *op) outcome() (Status, error) {
	r := Request{o, o.life}
	if !r.ready() {
		if err := o.e.await(context.Background(), r.ready); err != nil {
			return Status{}, err // the endpoint was closed, and may still use the op
		}
	}
	return o.result()
}

// endAndOutcome ends a hold of the engine's lock and returns the outcome of a blocker. A short hold
// becomes the first look for the message.
func (o *op) endAndOutcome(short bool) (Status, error) {
	e := o.e
	if !short || e.cfg.Manual || o.state != opActive {
		e.mu.end(short)
		return o.outcome()
	}
	r := Request{o, o.life}
	if err := e.poll(r.ready, true); err != nil {
		return Status{}, err // the endpoint was closed, and may still use the op
	}
	return o.result()
}

// result returns the result of a blocker that has ended, and frees it.
func (o *op) result() (Status, error) {
	st, err := o.st, o.err
	o.buf, o.err = Buffer{}, nil
	o.e.blockers.Put(o)
	return st, err
}

// complete ends an active op that is in no list and whose memory bmi does not have. The owner may
// reuse the op at once.
func (o *op) complete() {
	life := o.life
	o.finish()
	atomic.StoreUint32(&o.ended, life) // a full fence: see completeWithin
	o.e.ctx.Notify()
}

// completeWithin is complete of a receive within a quick handler, which is called with a lock of bmi
// held. A call that waits looks at ended once more, with the same lock held, after it has asked to
// be woken. So either it sees the end of the op, or Notify sees that it waits, without a fence.
func (o *op) completeWithin() {
	life := o.life
	if o.detached {
		o.finish()
	} else {
		o.state = opDone
	}
	storeRelease(&o.ended, life)
	o.e.ctx.Notify()
}

// finish ends an op, except for the fields that other goroutines may read.
func (o *op) finish() {
	e := o.e
	o.at = nowhere
	if o.kind == opSend && !o.st.Cancelled {
		o.st = Empty
	}
	o.state = opDone
	if o.detached {
		if e.detached--; e.detached == 0 {
			e.changed()
		}
		e.recycle(o)
	}
}

// fail ends an active op with an error, wherever it waits. If bmi has its memory, the op ends when
// bmi returns it.
func (o *op) fail(err error) {
	if o.err == nil {
		o.err = err
	}
	e := o.e
	switch o.at {
	case atNetwork:
		return
	case atMove:
		o.move.stop = true
		e.unstall(o)
		if o.move.lent > 0 {
			return
		}
	}
	o.withdraw()
	o.complete()
}

// revoke ends an active op whose scope was revoked or broken. If the peer has a part in the op, the
// op ends with the peer's answer or with the end of the transfer, so that neither side waits for
// the other.
func (o *op) revoke(err error) {
	if o.at != atPeer && o.at != atMove {
		o.fail(err)
		return
	}
	if o.err == nil {
		o.err = err
	}
	if o.at == atPeer {
		o.takeBack()
	}
}

// withdraw removes an active op from the list or table in which it waits.
func (o *op) withdraw() {
	switch o.at {
	case atBacklog:
		o.proc.backlog.Remove(o)
	case atPosted:
		o.e.unpost(o)
		return
	case atPeer:
		o.e.sends.remove(o.id)
	case atEarly:
		o.e.drop(o.early)
	case atTaken:
		o.early.send, o.early.lost = nil, o.err
	}
	o.unlist()
}

// enlist adds the op to the list that is searched when its peer fails.
func (o *op) enlist() {
	if o.proc != nil {
		o.proc.ops.Add(o, &o.links)
	} else {
		o.scope.anys.Add(o, &o.links)
	}
}

func (o *op) unlist() {
	if o.proc != nil {
		o.proc.ops.Remove(&o.links)
	} else {
		o.scope.anys.Remove(&o.links)
	}
}
