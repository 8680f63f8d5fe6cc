package core

import (
	"time"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/internal/queue"
)

// A Pending is a send or receive that has not ended.
type Pending struct {
	Context ContextID
	Doing   string // what the scope does (Scope.Doing); "" if it did not say
	Receive bool
	Proc    *Proc // nil: any
	Tag     int   // may be AnyTag
}

// pendingMax bounds how many operations Blocked returns, and so how long it holds the lock.
const pendingMax = 4096

// Blocked returns the number of sleeping calls and how long the first of them has waited. If there are
// any, it also returns the sends and receives that have not ended. A call that has waited for less than a
// millisecond may not sleep yet.
func (e *Engine) Blocked() (calls int, since time.Duration, ops []Pending) {
	calls, since = e.ctx.Asleep()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.attending { // its goroutine is no call
		calls--
	}
	if calls <= 0 {
		return 0, 0, nil
	}
	for o := e.recvs.first; o != nil; o = o.next {
		ops = o.appendPending(ops)
	}
	for _, p := range e.met {
		ops = appendPending(ops, &p.ops)
	}
	for _, s := range e.scopes {
		ops = appendPending(ops, &s.anys)
	}
	return calls, since, ops
}

func appendPending(ops []Pending, list *queue.List[op]) []Pending {
	for o := list.First(); o != nil && len(ops) < pendingMax; o = o.links.Next() {
		ops = o.appendPending(ops)
	}
	return ops
}

func (o *op) appendPending(ops []Pending) []Pending {
	if o.detached || o.scope == nil || o.kind > opRecv || len(ops) == pendingMax {
		return ops
	}
	p := Pending{Context: o.scope.id, Receive: o.kind == opRecv, Proc: o.proc, Tag: int(wire.TagOf(uint64(o.bits)))}
	if p.Receive && uint64(o.mask)&wire.MaskTag != 0 {
		p.Tag = AnyTag
	}
	if name := o.scope.doing.Load(); name != nil {
		p.Doing = *name
	}
	return append(ops, p)
}
