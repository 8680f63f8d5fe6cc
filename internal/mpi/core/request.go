package core

import (
	"context"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Request is an operation that was posted. It is a small value; the zero Request is
// MPI_REQUEST_NULL. Once a call has reported the end of the operation, every copy of the Request
// behaves like the zero one; a persistent Request becomes inactive instead.
type Request struct {
	op   *op
	life uint32 // of op, or persistentLife
}

// persistentLife is the life in every Request of a persistent op.
const persistentLife = 0

// IsNull tells whether r is the zero Request.
func (r Request) IsNull() bool { return r.op == nil }

// idleLocked tells whether there is nothing to wait for: the request is null, ended or inactive.
// Engine.mu is held.
func (r Request) idleLocked() bool {
	o := r.op
	if o == nil || o.state == opFree || o.state == opIdle || o.detached {
		return true
	}
	return r.life != persistentLife && o.life != r.life
}

// unreportedLocked tells whether the operation ended without an error, and only needs to be
// recycled. Engine.mu is held.
func (r Request) unreportedLocked() bool {
	o := r.op
	return o != nil && o.state == opDone && o.life == r.life && o.err == nil && !o.persistent
}

// ready tells whether a call that waits for r can stop waiting. It may be called without Engine.mu.
func (r Request) ready() bool {
	if r.life == persistentLife {
		return atomic.LoadUint32(&r.op.ended) == r.op.begun.Load()
	}
	return int32(atomic.LoadUint32(&r.op.ended)-r.life) >= 0
}

// collect returns the result of an operation that ended. Engine.mu is held.
func (r Request) collect() (Status, error) {
	o := r.op
	st, err := o.st, o.err
	if o.persistent {
		o.state = opIdle
		o.st, o.err = Status{}, nil
		return st, err
	}
	o.e.recycle(o)
	return st, err
}

// Wait waits until the operation ended. If ctx ends first, Wait returns ctx's error and the
// operation goes on. For a null, ended or inactive request it returns Empty at once.
func (r Request) Wait(ctx context.Context) (Status, error) {
	if r.op == nil {
		return Empty, nil
	}
	e := r.op.e
	if !r.ready() {
		if err := e.await(ctx, r.ready); err != nil {
			return Status{}, err
		}
	}
	short := e.mu.lockShort()
	defer e.mu.endUnsent(short)
	if r.idleLocked() {
		return Empty, nil
	}
	return r.collect()
}

// Test tells whether the operation ended. If not, it makes progress.
func (r Request) Test() (Status, bool, error) {
	st, ok, err := r.Peek()
	if !ok || r.op == nil {
		return st, ok, err
	}
	mu := &r.op.e.mu
	short := mu.lockShort()
	defer mu.endUnsent(short)
	if r.idleLocked() {
		return Empty, true, nil
	}
	st, err = r.collect()
	return st, true, err
}

// Peek is Test, but leaves the request unchanged (MPI-4.1, 3.7.6).
func (r Request) Peek() (Status, bool, error) {
	if r.op == nil {
		return Empty, true, nil
	}
	e := r.op.e
	if !r.ready() {
		e.Progress()
	}
	short := e.mu.lockShort()
	defer e.mu.endUnsent(short)
	switch {
	case r.idleLocked():
		return Empty, true, nil
	case r.op.state != opDone:
		return Status{}, false, nil
	}
	return r.op.st, true, r.op.err
}

// Start starts a persistent request.
func (r Request) Start() error {
	if r.op == nil {
		return errclass.New(errclass.Request, "a null request cannot be started")
	}
	o, e := r.op, r.op.e
	if e.mu.tryShort() {
		started := r.startShort()
		e.mu.end(true)
		if started {
			return nil
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case r.life != persistentLife || o.state == opFree:
		return errclass.New(errclass.Request, "only persistent requests can be started, which are not freed")
	case o.state != opIdle:
		return errclass.New(errclass.Request, "the request is active: wait for it first")
	}
	o.proc = o.only
	if o.kind == opSend {
		e.start(o)
	} else {
		e.startRecv(o)
	}
	return nil
}

// startShort starts a persistent request within a short hold, unless something unusual is in the way.
func (r Request) startShort() bool {
	o := r.op
	if r.life != persistentLife || o.state != opIdle {
		return false
	}
	if o.kind == opRecv {
		if !o.e.onlyPosts(o.only, o.bits, o.mask) {
			return false
		}
		o.proc = o.only
		o.e.startRecv(o)
		return true
	}
	mem, contiguous := o.buf.piece()
	if !contiguous || o.only == nil || !o.scope.sendNow(o.only, o.mode, mem, o.bits, true) {
		return false
	}
	o.proc = o.only
	o.activate()
	o.complete()
	return true
}

// Free releases the request. An active operation continues unobserved (MPI-4.1, 3.7.3).
func (r Request) Free() error {
	if r.op == nil {
		return errclass.New(errclass.Request, "a null request cannot be freed")
	}
	o, e := r.op, r.op.e
	e.mu.Lock()
	defer e.mu.Unlock()
	if o.state == opFree || o.detached || r.life != persistentLife && o.life != r.life {
		return errclass.New(errclass.Request, "the request has ended or was freed already")
	}
	if o.state != opActive {
		e.recycle(o)
		return nil
	}
	o.detached = true
	e.detached++
	atomic.StoreUint32(&o.ended, o.life) // no call waits for it any more
	e.ctx.Notify()
	return nil
}

// NewOp makes a generalized request (MPI-4.1, 13.2). end completes it, from any goroutine, once.
// cancel is called if the request is cancelled; it may be nil.
func (e *Engine) NewOp(cancel func()) (r Request, end func(Status, error)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := e.acquire(opOther, nil)
	o.activate()
	o.end = cancel
	return Request{o, o.life}, func(st Status, err error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		o.st, o.err = st, err
		o.complete()
	}
}

// await makes progress until done returns true. It fails if ctx ends first, or if the endpoint was
// closed.
func (e *Engine) await(ctx context.Context, done func() bool) error {
	if e.cfg.Manual {
		if done() {
			return nil
		}
		return errclass.New(errclass.Other, "a simulated endpoint cannot wait: test, and call Progress")
	}
	if ctx.Done() == nil {
		return e.poll(done, false)
	}
	stop := context.AfterFunc(ctx, e.ctx.Notify)
	defer stop()
	if err := e.poll(func() bool { return done() || ctx.Err() != nil }, false); err != nil {
		return err
	}
	if done() {
		return nil
	}
	return ctx.Err()
}

// poll makes progress until done returns true. short: the caller has a short hold, which ends here.
func (e *Engine) poll(done func() bool, short bool) error {
	for short || !done() {
		var out [completionsMax]bmi.Completion
		var n int
		var err error
		if short {
			short = false
			n, err = e.mu.guard.TestUntil(e.ctx, done, out[:])
		} else {
			n, err = e.ctx.TestUntil(done, out[:], bmi.Forever)
		}
		if n > 0 {
			e.take(out[:n])
		}
		if err != nil && !done() { // otherwise it ended before the error
			return errclass.Wrap(errclass.Other, err, "waiting")
		}
	}
	return nil
}

// completionsMax is how many completions are taken at a time.
const completionsMax = 4

// Progress polls once.
func (e *Engine) Progress() {
	var out [completionsMax]bmi.Completion
	for {
		n, err := e.ctx.TestContext(out[:], 0)
		if n > 0 {
			e.take(out[:n])
		}
		if n < len(out) || err != nil {
			return
		}
	}
}

// take handles completions of bmi.
func (e *Engine) take(out []bmi.Completion) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range out {
		c := &out[i]
		switch u := c.User.(type) {
		case *packet:
			u.sent(c.Err)
		case *piece:
			u.ended(c.Size, c.Err)
		case *lifeline:
			if c.Err == nil {
				u.l.proc.broke("a message with a tag that is never used")
			} else {
				u.l.broke(c.Err)
			}
		}
	}
	e.retry()
	if e.lent == 0 && e.held.Empty() {
		e.changed()
	}
}
