package mpi

import (
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/mpi/core"
)

// A program is this process's part in a collective operation whose arguments have been checked. It
// may be run many times, but only once at a time. A blocking operation runs it at once, a
// non-blocking one in a goroutine, and a persistent one each time it is started.
type program func(v *view) error

// run runs a program to its end. If err is not nil, run returns err instead.
func (c *Comm) run(do program, err error) error {
	if err != nil {
		return err
	}
	v := c.take(c.number())
	return c.put(v, do(v))
}

// begin starts a program, and returns a request that completes when the program ends.
func (c *Comm) begin(do program, err error) (Request, error) {
	if err != nil {
		return Request{}, err
	}
	r, t, err := c.round(do)
	if err != nil {
		return Request{}, err
	}
	o := &origin{comm: c}
	o.task.Store(t)
	return Request{r: r, from: o}, nil
}

// prepare makes a persistent request that runs a program (MPI-4.1, 6.13).
func (c *Comm) prepare(do program, err error) (Request, error) {
	if err != nil {
		return Request{}, err
	}
	o := &origin{comm: c}
	o.start = func() (core.Request, error) {
		r, t, err := c.round(do)
		o.task.Store(t)
		return r, err
	}
	return Request{from: o}, nil
}

// round starts one run of a program in a goroutine of its own.
func (c *Comm) round(do program) (core.Request, *task, error) {
	if err := c.hold(); err != nil {
		return core.Request{}, nil, err
	}
	r, end := c.p.engine.NewOp(nil) // nothing cancels a collective operation (MPI-4.1, 6.12)
	t := &task{comm: c, do: do, view: c.take(c.number()), end: end}
	go t.run()
	return r, t, nil
}

// A task is one run of a program. Its goroutine runs it, unless a caller that waits for it does so
// first, which saves the cost of waking goroutines.
type task struct {
	comm  *Comm
	do    program
	view  *view
	end   func(core.Status, error)
	begun atomic.Bool
}

// run runs the program if it has not begun yet.
func (t *task) run() {
	if t.begun.Swap(true) {
		return
	}
	err := t.comm.put(t.view, t.do(t.view))
	t.comm.drop()
	t.end(core.Empty, err)
}
