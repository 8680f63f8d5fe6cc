package bmi

import (
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi/progress"
	"github.com/viaduct-hpc/viaduct/internal/spin"
)

// Test checks whether one operation has completed, and returns it if so. wait is how
// long Test may wait for it: 0 polls once, Forever has no limit. A false without an
// error means that the time is over.
func (c *Context) Test(op OpID, wait time.Duration) (Completion, bool, error) {
	if op.method() >= len(c.ep.methods()) {
		return Completion{}, false, unknownOp(op)
	}
	r := request{kind: waitOp, ctx: c, id: op}
	n, err := c.ep.test(&r, &c.waits, wait)
	return r.one, n == 1, err
}

// TestSome returns those of ops that have completed, as many as out has room for, and
// waits for the first. Zero ids in ops are skipped, so that the caller can set returned
// ids to 0 and use the slice again. If all ids are zero, TestSome returns at once. An id
// that is not pending is an error, reported when there is no completion to return.
func (c *Context) TestSome(ops []OpID, out []Completion, wait time.Duration) (int, error) {
	any, methods := false, len(c.ep.methods())
	for _, id := range ops {
		if id.method() >= methods {
			return 0, unknownOp(id)
		}
		any = any || id != 0
	}
	if !any {
		return 0, nil
	}
	if len(out) == 0 {
		return 0, errNoRoom
	}
	r := request{kind: waitSome, ctx: c, ids: ops, out: out}
	return c.ep.test(&r, &c.waits, wait)
}

// TestContext returns completed operations of the context, the oldest of each method
// first, as many as out has room for. It waits for the first.
func (c *Context) TestContext(out []Completion, wait time.Duration) (int, error) {
	if len(out) == 0 {
		return 0, errNoRoom
	}
	r := request{kind: waitContext, ctx: c, out: out}
	return c.ep.test(&r, &c.waits, wait)
}

// TestUntil is TestContext for a caller that also waits for an event outside bmi, for
// example one that a handler or another goroutine signals. It also returns, perhaps with
// no completion, once done reports true. The caller calls done repeatedly, with a lock
// held, so done must do no more than read an atomic variable. If a handler makes done
// true, TestUntil notices at once; any other goroutine must call Notify afterwards.
func (c *Context) TestUntil(done func() bool, out []Completion, wait time.Duration) (int, error) {
	if len(out) == 0 {
		return 0, errNoRoom
	}
	r := request{kind: waitContext, ctx: c, out: out, until: done}
	return c.ep.test(&r, &c.waits, wait)
}

// Notify makes the callers of TestUntil check their done functions. It costs next to
// nothing if none of them sleeps.
func (c *Context) Notify() {
	if c.waits.Waiting() {
		c.ep.monitor.WakeList(&c.waits)
	}
}

var errNoRoom = fmt.Errorf("%w: no room for a result, give a longer slice", ErrInvalid)

// A request is what a caller of a Test function waits for. It lives on the caller's
// stack.
type request struct {
	kind  waitKind
	class int      // waitUnexpected: of this class; < 0: of any
	ctx   *Context // nil for waitUnexpected
	id    OpID     // waitOp
	ids   []OpID   // waitSome

	one        Completion // waitOp
	out        []Completion
	unexpected []Unexpected
	n          int  // results in one, out or unexpected
	bad        bool // id, or one of ids, is not pending: unknown
	unknown    OpID

	until func() bool // waitContext: a second condition that ends the wait; may be nil
	in    *instance   // waitCall, waitQuiet, waitRoom
	call  *call       // waitCall
}

type waitKind uint8

const (
	waitContext    waitKind = iota // any operation of ctx
	waitOp                         // operation id
	waitSome                       // any of ids
	waitUnexpected                 // an unexpected message
	waitCall                       // the operation of a blocking helper
	waitQuiet                      // no operation of ctx is lent to in
	waitRoom                       // ctx may post one more operation with in
)

// takeLocked collects the results that are already there, with the engine lock of in
// held. It reports whether the caller need not wait any more.
func (r *request) takeLocked(in *instance) bool {
	if r.kind == waitUnexpected {
		return in.ep.takeUnexpected(r)
	}
	if r.kind == waitCall {
		return r.in == in && r.call.done
	}
	l := in.existingLocked(r.ctx)
	if l == nil {
		return r.withoutLane(in)
	}
	switch r.kind {
	case waitContext:
		if l.completed.Len() > 0 && !l.closed {
			r.n += l.popLocked(r.out[r.n:])
		}
		return r.n > 0 || r.until != nil && r.until()
	case waitOp:
		if r.id.method() == in.index {
			r.takeOpLocked(l, r.id, &r.one)
		}
	case waitSome:
		for _, id := range r.ids {
			if id != 0 && id.method() == in.index && r.n < len(r.out) {
				r.takeOpLocked(l, id, &r.out[r.n])
			}
		}
	case waitQuiet:
		return r.in == in && l.lentLocked() == 0
	case waitRoom:
		return r.in == in && (l.used < in.ep.cfg.Limits.PendingOps || l.closed || in.closing)
	}
	return r.n > 0 || r.bad
}

// withoutLane is takeLocked for a method with which the context has posted nothing.
func (r *request) withoutLane(in *instance) bool {
	switch r.kind {
	case waitContext:
		return r.n > 0 || r.until != nil && r.until()
	case waitOp:
		if r.id.method() == in.index {
			r.bad, r.unknown = true, r.id
		}
	case waitSome:
		for _, id := range r.ids {
			if id != 0 && id.method() == in.index {
				r.bad, r.unknown = true, id
			}
		}
	case waitQuiet, waitRoom:
		return r.in == in
	}
	return r.n > 0 || r.bad
}

// takeOpLocked collects one operation if it has completed.
func (r *request) takeOpLocked(l *lane, id OpID, out *Completion) {
	op := l.findLocked(id)
	if op == nil || l.closed {
		r.bad, r.unknown = true, id
		return
	}
	if op.state == opCompleted {
		l.completed.Remove(op)
		l.returnLocked(op, out)
		r.n++
	}
}

// test runs the request of an application.
func (e *Endpoint) test(r *request, list *progress.List, wait time.Duration) (int, error) {
	polls := 1
	if wait != 0 && !e.cfg.Manual {
		polls = e.monitor.FirstPolls()
	}
	if !e.first(r, polls) && wait != 0 {
		e.wait(r, list, wait, nil)
	}
	return e.answer(r)
}

// answer is what the request of an application returns.
func (e *Endpoint) answer(r *request) (int, error) {
	if r.n > 0 {
		return r.n, nil
	}
	if r.ctx != nil && r.ctx.closed.Load() {
		return 0, fmt.Errorf("%w: the context, open another", ErrClosed)
	}
	if e.closing.Load() && e.isClosed() {
		if e.takeAll(r); r.n > 0 { // completed since the last check
			return r.n, nil
		}
		return 0, fmt.Errorf("%w: the endpoint, open another", ErrClosed)
	}
	if r.bad {
		return 0, unknownOp(r.unknown)
	}
	return 0, nil
}

func (e *Endpoint) isClosed() bool {
	select {
	case <-e.closed:
		return true
	default:
		return false
	}
}

// first collects the results that are already there. If there are none, it polls a few
// times and checks again. It visits every method, starting with a different one each
// time.
func (e *Endpoint) first(r *request, polls int) bool {
	all := e.methods()
	if len(all) == 1 {
		all[0].Lock()
		return all[0].firstLocked(r, polls)
	}
	if len(all) == 0 {
		return false
	}
	start := 0
	if r.ctx != nil {
		start = int(r.ctx.rotor.Add(1) % uint32(len(all)))
	}
	ok := false
	for i := range all {
		in := all[(start+i)%len(all)]
		in.Lock()
		if r.takeLocked(in) {
			ok = true
		} else if served, _ := in.burstLocked(r, polls/len(all)+1); served {
			ok = true
		}
		in.unlock()
	}
	return ok
}

// firstLocked is first for the only method. It releases the engine lock.
func (in *instance) firstLocked(r *request, polls int) bool {
	ok := r.takeLocked(in)
	if !ok {
		ok, _ = in.burstLocked(r, polls)
	}
	in.unlock()
	return ok
}

// takeAll collects the results that are already there, from all methods.
func (e *Endpoint) takeAll(r *request) bool {
	served := false
	for _, in := range e.methods() {
		in.Lock()
		served = r.takeLocked(in) || served
		in.unlock()
	}
	return served
}

// wait waits until the request is served, the time is over, its context closes, or w is
// cancelled. It reports whether the request was served. Completions wake the waiters in
// list; it is nil if the operation itself knows its waiter, w. When the endpoint closes,
// wait waits until every method has closed, and then checks the request a last time.
//
// The list is not a field of the request because the monitor keeps it, and a request can
// live on the caller's stack only if nothing that it points to is kept.
func (e *Endpoint) wait(r *request, list *progress.List, limit time.Duration, w *progress.Waiter) bool {
	if e.cfg.Manual {
		return false
	}
	served := e.monitor.Wait(func(index, polls int) (met, moved bool) {
		in := e.methods()[index]
		if r.takeLocked(in) || r.overLocked() {
			return true, false
		}
		return in.burstLocked(r, polls)
	}, list, w, limit)
	if !served && e.closing.Load() {
		<-e.closed
	}
	return served || e.takeAll(r)
}

// overLocked reports whether the request cannot be served any more, because its context has closed.
func (r *request) overLocked() bool {
	return r.ctx != nil && r.ctx.closed.Load() && r.kind != waitQuiet && r.kind != waitCall
}

// burstLocked polls several times within one hold of the engine lock, but releases the
// lock as soon as another goroutine wants it. moved reports whether the method made
// progress, even if only for another waiter or with part of a message.
func (in *instance) burstLocked(r *request, polls int) (served, moved bool) {
	for range polls {
		if in.BeginPoll() && in.Poll() {
			moved = true
			if r.takeLocked(in) {
				if polls > 1 {
					in.spinsWon++
				}
				return true, true
			}
		}
		if in.EndBurst() {
			return false, moved
		}
		if polls > 1 {
			spin.Relax()
		}
	}
	return false, moved
}
