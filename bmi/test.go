package bmi

import (
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/progress"
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
	n, err := c.ep.test(&r, &c.waits, wait, nil)
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
	return c.ep.test(&r, &c.waits, wait, nil)
}

// TestContext returns completed operations of the context, the oldest of each method
// first, as many as out has room for. It waits for the first.
func (c *Context) TestContext(out []Completion, wait time.Duration) (int, error) {
	if len(out) == 0 {
		return 0, errNoRoom
	}
	r := request{kind: waitContext, ctx: c, out: out}
	return c.ep.test(&r, &c.waits, wait, nil)
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
	return c.ep.test(&r, &c.waits, wait, nil)
}

// Notify makes the callers of TestUntil check their done functions. It costs next to
// nothing if none of them sleeps.
func (c *Context) Notify() {
	if c.waits.Waiting() {
		c.ep.monitor.WakeList(&c.waits)
	}
}

// Asleep returns how many calls of TestContext, TestUntil, Test and TestSome sleep, and for how long the
// first of them has waited.
func (c *Context) Asleep() (calls int, longest time.Duration) { return c.ep.monitor.Longest(&c.waits) }

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
	met        bool // the caller need not wait any more
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

// noLane stands for the lane of a context that has posted nothing with a method.
var noLane lane

// takeLocked collects the results that are already there, with the engine lock of in
// held. It reports whether the request is met.
func (r *request) takeLocked(in *instance) bool {
	if r.kind == waitUnexpected {
		return in.ep.takeUnexpected(r)
	}
	if r.kind == waitCall {
		return r.in == in && r.call.done
	}
	l := in.existingLocked(r.ctx)
	if l == nil {
		l = &noLane
	}
	switch r.kind {
	case waitContext:
		for op := l.completed.First(); op != nil && r.n < len(r.out) && !l.closed; op = l.completed.First() {
			l.releaseLocked(op, &r.out[r.n])
			r.n++
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

// takeOpLocked collects one operation if it has completed.
func (r *request) takeOpLocked(l *lane, id OpID, out *Completion) {
	op := l.findLocked(id)
	if op == nil || l.closed {
		r.bad, r.unknown = true, id
		return
	}
	if op.state == opCompleted {
		l.releaseLocked(op, out)
		r.n++
	}
}

// test runs a request. It collects available results from every method in turn, starting with a different one each time. If
// there are none, it polls a few times, and then waits for at most limit (see await). It returns the number of results, or an
// error if there are none.
func (e *Endpoint) test(r *request, list *progress.List, limit time.Duration, w *progress.Waiter) (int, error) {
	all, polls, at := e.methods(), 1, 0
	if limit != 0 && !e.cfg.Manual {
		polls = e.monitor.FirstPolls()
	}
	if len(all) > 1 {
		polls = polls/len(all) + 1
		if r.ctx != nil {
			at = int(r.ctx.rotor.Add(1) % uint32(len(all)))
		}
	}
	for range all {
		in := all[at]
		in.Lock()
		met, _ := in.serveLocked(r, polls)
		in.unlock()
		r.met = r.met || met
		if at++; at == len(all) {
			at = 0
		}
	}
	if !r.met && limit != 0 && !e.cfg.Manual {
		e.await(r, list, limit, w)
	}
	return e.answer(r)
}

// answer is what the request of an application returns.
func (e *Endpoint) answer(r *request) (int, error) {
	if r.n > 0 {
		return r.n, nil
	}
	return e.nothing(r)
}

// nothing is the result of a request that has found nothing, unless the endpoint closes just now.
func (e *Endpoint) nothing(r *request) (int, error) {
	switch {
	case r.ctx != nil && r.ctx.closed.Load():
		return 0, fmt.Errorf("%w: the context, open another", ErrClosed)
	case e.closing.Load() && e.isClosed():
		if e.takeAll(r); r.n > 0 { // completed since the last check
			return r.n, nil
		}
		return 0, fmt.Errorf("%w: the endpoint, open another", ErrClosed)
	case r.bad:
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

// takeAll collects the results that are already there, from all methods.
func (e *Endpoint) takeAll(r *request) {
	for _, in := range e.methods() {
		in.Lock()
		r.met = r.takeLocked(in) || r.met
		in.unlock()
	}
}

// await waits until the request is met, the time is over, its context closes, or w is cancelled. Completions wake the waiters
// in list; it is nil if the operation itself knows its waiter, w. When the endpoint closes, await waits until every method has
// closed, and then checks the request a last time.
//
// The list is not a field of the request because the monitor keeps it, and a request can
// live on the caller's stack only if nothing that it points to is kept.
func (e *Endpoint) await(r *request, list *progress.List, limit time.Duration, w *progress.Waiter) {
	r.met = e.monitor.Wait(func(index, polls int) (met, moved bool) {
		if r.overLocked() {
			return true, false
		}
		return e.methods()[index].serveLocked(r, polls)
	}, list, w, limit)
	if !r.met {
		if e.closing.Load() {
			<-e.closed
		}
		e.takeAll(r)
	}
}

// overLocked reports whether the request cannot be met any more, because its context has closed.
func (r *request) overLocked() bool {
	return r.ctx != nil && r.ctx.closed.Load() && r.kind != waitQuiet && r.kind != waitCall
}

// serveLocked collects results for a request. While there are none it polls, several times within one hold of the engine lock,
// but releases the lock as soon as another goroutine wants it. moved reports whether the method made progress, even if only for
// another waiter or with part of a message.
func (in *instance) serveLocked(r *request, polls int) (met, moved bool) {
	if r.takeLocked(in) {
		return true, false
	}
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
