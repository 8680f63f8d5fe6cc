package mpi

import (
	"context"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// A program is this process's part in a collective operation whose arguments have been checked. It
// may be run many times, but only once at a time. A blocking operation runs it at once, a
// non-blocking one in a goroutine, and a persistent one each time it is started.
type program struct {
	do func(v *view) error
	// start is there in place of do if all messages can be posted before any arrives, as those of
	// neighbours can. It posts them, and end waits for them. A non-blocking operation then needs no
	// goroutine, which would take the processor from a program that computes meanwhile.
	start func(v *view) (end func() error)
	err   error   // what is wrong with the arguments; do and start are nil then
	name  *string // of the operation, for those that watch the process; nil: it says none
}

// run runs all of the program.
func (p *program) run(v *view) error {
	if p.start == nil {
		return p.do(v)
	}
	return p.start(v)()
}

// A collective is the names of a collective operation in its three forms.
type collective struct{ blocking, nonblocking, persistent string }

// now runs a collective operation to its end.
func (c *Comm) now(ctx context.Context, of *collective, root int, b *Buffer, p program) error {
	call := c.enterIf(of.blocking, root, Undefined, b)
	p.name = &of.blocking
	return c.leave(call, c.run(ctx, p))
}

// later begins a collective operation, or prepares it, as how says.
func (c *Comm) later(of *collective, root int, b *Buffer, p program, how []Mode) Request {
	p.name = &of.nonblocking
	persistent, err := onlyPersistent(how)
	if persistent {
		p.name = &of.persistent
	}
	call := c.enterIf(*p.name, root, Undefined, b)
	if p.err != nil {
		err = p.err
	}
	var r Request
	switch {
	case err != nil:
	case persistent:
		r = c.prepare(p)
	default:
		r, err = c.begin(p)
	}
	c.seen(call, err)
	return c.began(r, err)
}

// run runs a program to its end, or until ctx ends.
func (c *Comm) run(ctx context.Context, p program) error {
	if p.err != nil {
		return p.err
	}
	c.coll.Doing(p.name)
	v := c.take(c.number())
	if endless(ctx) {
		return c.put(v, p.run(v))
	}
	return c.bounded(ctx, func() error { return c.put(v, p.run(v)) })
}

// bounded does what several processes do together on the communicator. If ctx ends first, they
// cannot agree any more on what they are doing: bounded revokes the communicator, and returns ctx's
// error.
func (c *Comm) bounded(ctx context.Context, do func() error) error {
	if endless(ctx) {
		return do()
	}
	stop := context.AfterFunc(ctx, c.revoke)
	err := do()
	if !stop() {
		return ctx.Err()
	}
	return err
}

// making runs a program that makes a communicator. If it fails although the communicator is made,
// because ctx ended, the others may have it, too: making revokes and frees it.
func (c *Comm) making(ctx context.Context, p program, made **Comm) error {
	err := c.run(ctx, p)
	*made, err = (*made).unless(err)
	return err
}

// unless returns c, which may be nil or not made, if err is nil. Otherwise it revokes and frees c
// and returns the error.
func (c *Comm) unless(err error) (*Comm, error) {
	if err == nil {
		return c, nil
	}
	if c != nil && c.state.Load() == commLive {
		c.revoke()
		_ = c.free() // cannot fail: it is live
	}
	return nil, err
}

// begin starts a program, and returns a request that completes when the program ends.
func (c *Comm) begin(p program) (Request, error) {
	r, t, err := c.round(p)
	if err != nil {
		return Request{}, err
	}
	o := &origin{comm: c}
	o.task.Store(t)
	return Request{r: r, from: o}, nil
}

// prepare makes a persistent request that runs a program (MPI-4.1, 6.13).
func (c *Comm) prepare(p program) Request {
	o := &origin{comm: c}
	o.start = func() (core.Request, error) {
		r, t, err := c.round(p)
		o.task.Store(t)
		return r, err
	}
	return Request{from: o}
}

// round starts one run of a program. A program with a start function posts its first operations
// here. Any other program runs in a goroutine.
func (c *Comm) round(p program) (core.Request, *task, error) {
	if err := c.hold(); err != nil {
		return core.Request{}, nil, err
	}
	c.coll.Doing(p.name)
	v := c.take(c.number())
	if p.start != nil {
		end := p.start(v)
		r, t := c.newTask(func() (core.Status, error) { return core.Empty, c.put(v, end()) })
		c.post(t)
		return r, t, nil
	}
	r, t := c.newTask(func() (core.Status, error) { return core.Empty, c.put(v, p.do(v)) })
	t.launch()
	return r, t, nil
}

// newTask makes a task on a communicator that is held.
func (c *Comm) newTask(do func() (core.Status, error)) (core.Request, *task) {
	r, end := c.p.engine.NewOp(nil) // nothing cancels a collective operation (MPI-4.1, 6.12)
	return r, &task{comm: c, do: do, end: end}
}

// A task is one run of an operation that waits for others. A goroutine runs it, unless a caller that
// waits for it does so first, which saves the cost of waking goroutines.
type task struct {
	comm     *Comm
	do       func() (core.Status, error)
	end      func(core.Status, error)
	launched atomic.Bool
	begun    atomic.Bool
}

// launch starts the goroutine, unless the task has begun.
func (t *task) launch() {
	if !t.begun.Load() && !t.launched.Swap(true) {
		go t.run()
	}
}

// run runs the task if it has not begun yet.
func (t *task) run() {
	if t.begun.Swap(true) {
		return
	}
	st, err := t.do()
	t.comm.drop(t)
	t.end(st, err)
}
