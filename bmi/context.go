package bmi

import (
	"fmt"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/internal/progress"
)

// A Context holds operations and their completions. A Test call on it returns
// only operations posted in it. Threads that work independently take one each.
// Any goroutine may call any of its methods.
type Context struct {
	ep     *Endpoint
	index  int // in Endpoint.contexts and instance.lanes
	closed atomic.Bool
	rotor  atomic.Uint32 // which method a Test call looks at first
	waits  progress.List
}

// OpenContext opens a context.
func (e *Endpoint) OpenContext() (*Context, error) {
	e.open.Lock()
	defer e.open.Unlock()
	if e.closing.Load() {
		return nil, fmt.Errorf("%w: the endpoint, open another", ErrClosed)
	}
	c := &Context{ep: e}
	for c.index < len(e.contexts) && e.contexts[c.index] != nil {
		c.index++
	}
	if c.index == len(e.contexts) {
		e.contexts = append(e.contexts, nil)
	}
	e.contexts[c.index] = c
	return c, nil
}

// Close cancels the operations of the context and waits, at most
// Limits.CancelTimeMax, until the methods have released their memory. Completions
// that no Test call returned are discarded. If Close returns an error, some
// buffers are still lent to a method.
func (c *Context) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	e := c.ep
	for _, in := range e.methods() {
		in.Lock()
		if l := in.existingLocked(c); l != nil {
			l.closed = true
			if !in.IsClosed() {
				l.eachPostedLocked(in.method.Cancel)
			}
		}
		in.unlock()
	}
	e.monitor.WakeList(&c.waits)
	until := e.monitor.Now() + e.cfg.Limits.CancelTimeMax
	left := 0
	for _, in := range e.methods() {
		r := request{kind: waitQuiet, ctx: c, in: in}
		_, _ = e.test(&r, &c.waits, max(until-e.monitor.Now(), 0), nil)
		in.Lock()
		if l := in.existingLocked(c); l != nil {
			lent := l.lentLocked()
			if lent == 0 {
				in.lanes[c.index] = nil
			}
			left += lent
		}
		in.unlock()
	}
	if left > 0 {
		// The index is not used again, so that late completions find their lane.
		return fmt.Errorf("bmi: context closed, but %d operations still hold their buffers: a method is slow to cancel", left)
	}
	e.open.Lock()
	e.contexts[c.index] = nil
	e.open.Unlock()
	return nil
}

// Cancel asks for an operation to end early. A Test call still returns it: with
// ErrCancelled, or with its own result if it completed first.
func (c *Context) Cancel(id OpID) error {
	if all := c.ep.methods(); id.method() < len(all) {
		in := all[id.method()]
		in.Lock()
		defer in.unlock()
		if l := in.existingLocked(c); l != nil && !l.closed {
			if op := l.findLocked(id); op != nil {
				if op.state == opPosted {
					in.method.Cancel(op)
				}
				return nil
			}
		}
	}
	if c.closed.Load() {
		return fmt.Errorf("%w: the context", ErrClosed)
	}
	return unknownOp(id)
}

func unknownOp(id OpID) error {
	return fmt.Errorf("%w under %#x: a Test call returned it before, or it was posted in another context", ErrUnknownOp, uint64(id))
}
