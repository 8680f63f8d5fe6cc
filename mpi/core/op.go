package core

import (
	"context"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

// An op is one send or receive, or something else that a Request stands for. Ops are used
// again; each time is a life of its own, with a number. All but ended and begun is guarded
// by Engine.mu while the op is active.
//
//	                    collected (persistent)
//	          ┌──────────────────────────────────────┐
//	          v        post                          │
//	free ─> idle ───────────────> active ────────> done ──> free
//	                              waits in a backlog, a match table or at a peer
//
// Who waits without Engine.mu looks at ended alone: what it says is the last thing that
// happens to an op in a life.
type op struct {
	e     *Engine
	ended atomic.Uint32 // the latest life that has ended
	begun atomic.Uint32 // of a persistent op: the latest life; 0: none yet
	life  uint32        // the latest; ended ≤ life ≤ ended+1
	state opState

	kind       opKind
	mode       Mode
	persistent bool
	detached   bool // nobody will collect it: it frees itself
	cancelling bool // a CANCEL is under way
	staged     bool // a receive whose memory bmi never gets: its message moves through staging memory
	abandoned  bool // staged, and its memory is the caller's again: what still comes is discarded

	scope *Scope
	only  *Proc // whom it was posted for; nil: anybody, or ProcNull
	proc  *Proc // the other side, as only, or who sent what a receive from anybody got
	buf   Buffer
	size  int // of buf's data in bytes
	bits  matchbits.Bits
	mask  matchbits.Bits
	st    Status
	err   error

	at    place
	ref   matchbits.Ref   // atPosted
	turn  uint64          // atPosted: when it was put in the table, of Engine.turns
	early *early          // atEarly and atTaken: its message
	id    uint32          // atPeer: the send's name there
	chain queue.Links[op] // in Proc.ops, or in Scope.anys
	next  *op             // in Proc.backlog, or in the free list
	move  transfer        // atMove
	end   func()          // opOther: asks for its end
}

// An opState is where in its life an op is.
type opState uint8

const (
	opFree   opState = iota
	opIdle           // persistent, and not started, or collected
	opActive         // it waits for something
	opDone           // it has ended and nobody has collected it
)

type opKind uint8

const (
	opSend opKind = iota
	opRecv
	opOther // ended by NewOp's function
)

// A place is where an active op waits.
type place uint8

const (
	nowhere   place = iota
	atBacklog       // a send without window, in Proc.backlog
	atPosted        // a receive, in the match table
	atPeer          // a send that waits for CTS or ACK, in Engine.sends
	atNetwork       // an eager send whose memory bmi has
	atMove          // data is moving
	atEarly         // a send to this process itself, in the match table
	atTaken         // one that a matched probe has taken out of it
)

// Link implements queue.Linked.
func (o *op) Link() **op { return &o.next }

// Chain implements queue.Chained.
func (o *op) Chain() *queue.Links[op] { return &o.chain }

// acquire takes an op for a new request.
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

// sentOp is an op of a send that has ended already. It never had anything.
func (e *Engine) sentOp() *op {
	o := e.acquire(opSend, nil)
	if o.life++; o.life == 0 {
		o.life++
	}
	o.state, o.st = opDone, Empty
	o.ended.Store(o.life) // nobody waits for it yet
	return o
}

// prepare makes an op as if it were new, but for its count of lives.
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
		o.life++ // a life of none is that of no op
	}
	o.state, o.cancelling = opActive, false
	if o.persistent {
		o.begun.Store(o.life)
	}
}

// recycle ends the use of an op: every Request that names it is null from now on.
func (e *Engine) recycle(o *op) {
	o.state = opFree
	if o.persistent {
		return // its Requests do not tell its lives apart, so it has no further one
	}
	if o.scope == nil && o.kind == opSend { // of sentOp
		o.next, e.freeOps = e.freeOps, o
		return
	}
	o.scope, o.only, o.proc, o.early, o.end = nil, nil, nil, nil, nil
	o.buf = Buffer{}
	o.next, e.freeOps = e.freeOps, o
}

// blocker takes an op for a call that waits for its end. Nobody else ever sees such an op, so
// that it need not be collected under Engine.mu.
func (e *Engine) blocker() *op {
	if o, ok := e.blockers.Get().(*op); ok {
		return o
	}
	return &op{e: e}
}

// outcome waits for the end of a blocker, and gives it back.
func (o *op) outcome() (Status, error) {
	r := Request{o, o.life}
	if !r.ready() {
		if err := o.e.await(context.Background(), r.ready); err != nil {
			return Status{}, err // it is the endpoint's that was closed under it
		}
	}
	st, err := o.st, o.err
	o.buf, o.err = Buffer{}, nil
	o.e.blockers.Put(o)
	return st, err
}

// complete ends an active op, which is in no list and has no memory lent to anybody. Its
// owner may use it for something else at once.
func (o *op) complete() {
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
	o.ended.Store(o.life)
	e.ctx.Notify()
}

// fail ends an active op with an error, wherever it waits; but memory that bmi has, it
// gives back first.
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

// revoke ends an active op whose scope was revoked or broken. What the peer has a part in ends with it:
// it answers, or data moves to its end, so that neither side waits for the other.
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

// withdraw takes an active op out of whatever it waits in.
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

// enlist puts the op where the failure of its peer finds it.
func (o *op) enlist() {
	if o.proc != nil {
		o.proc.ops.Add(o)
	} else {
		o.scope.anys.Add(o)
	}
}

func (o *op) unlist() {
	if o.proc != nil {
		o.proc.ops.Remove(o)
	} else {
		o.scope.anys.Remove(o)
	}
}
