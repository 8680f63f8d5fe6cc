package bmi

import (
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/progress"
)

// A call is an operation that a blocking function waits for, with its result.
type call struct {
	progress.Waiter
	in     *instance
	op     *Op // until done
	done   bool
	result Completion // these three are guarded by the engine lock of in
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
	c.in, c.op, c.done, c.result = nil, nil, false, Completion{}
	calls.Put(c)
}

// completeLocked takes the completion of the operation.
func (c *call) completeLocked(op *Op) {
	c.op, c.done = nil, true
	op.lane.releaseLocked(op, &c.result)
	if c.Registered() {
		c.in.ep.monitor.Wake(&c.Waiter)
	}
}
