package bmi

import (
	"sync"

	"github.com/viaduct-hpc/viaduct/bmi/progress"
)

// A call is an operation that a blocking function waits for, with its result.
type call struct {
	progress.Waiter
	in   *instance
	op   *Op // until done
	done bool
	size int
	err  error // these four are guarded by the engine lock of in
}

var calls = sync.Pool{New: func() any {
	c := new(call)
	c.Init()
	return c
}}

func newCall() *call {
	c := calls.Get().(*call)
	c.Reset()
	return c
}

func (c *call) free() {
	c.in, c.op, c.done, c.size, c.err = nil, nil, false, 0, nil
	calls.Put(c)
}

// completeLocked takes the completion of the operation.
func (c *call) completeLocked(op *Op) {
	in := op.lane.in
	c.size, c.err = op.size, op.err
	c.op = nil
	op.lane.recycleLocked(op)
	c.done = true
	if c.Registered() {
		in.ep.monitor.Wake(&c.Waiter)
	}
}
