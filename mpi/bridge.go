package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	inner "github.com/viaduct-hpc/viaduct/mpi/internal/bridge"
)

func init() {
	inner.Offer(&inner.Calls[Comm, Request, Call]{
		Live:    (*Comm).checkLive,
		Fail:    (*Comm).fail,
		Engine:  func(c *Comm) *core.Engine { return c.p.engine },
		Scope:   func(c *Comm) *core.Scope { return c.p2p },
		Request: (*Comm).request,
		Ended:   func(c *Comm, err error) Request { return c.began(Request{}, err) },
		Barrier: func(ctx context.Context, c *Comm) error { return c.run(ctx, c.barrier()) },
		Dup: func(ctx context.Context, c *Comm) (*Comm, error) {
			dup := hidden(c)
			err := c.making(ctx, c.duplicate(dup), &dup)
			return dup, err
		},
		Idup: func(c *Comm) (*Comm, Request) {
			dup := hidden(c)
			p := c.duplicate(dup)
			if p.err != nil {
				return dup, dup.began(Request{}, p.err)
			}
			r, err := c.begin(p)
			if err == nil {
				r.from.comm = dup
			}
			return dup, dup.began(r, err)
		},
		Show: func(c *Comm) { c.hidden = false },
		Free: func(c *Comm) error { return c.free() },
		Operation: func(c *Comm, cancel func()) (Request, func(core.Status, error)) {
			r, end := c.p.engine.NewOp(cancel)
			return c.request(r), end
		},
		Go: func(c *Comm, do func()) {
			c.p.leftovers.Add(1)
			go func() {
				defer c.p.leftovers.Add(-1)
				do()
			}()
		},
		Hooked: func(c *Comm) bool { return c.p.hook != nil },
		Enter: func(c *Comm, name string, rank, bytes int) *Call {
			if c.p.hook == nil {
				return nil
			}
			call := &Call{Name: name, Comm: c, Peer: rank, Tag: Undefined, Bytes: bytes}
			c.p.hook.Enter(call)
			return call
		},
		Leave: func(c *Comm, call *Call, err error) {
			if call != nil {
				c.p.hook.Leave(call, err)
			}
		},
	})
}

// hidden returns the Comm of a duplicate. The hook does not see its calls.
func hidden(c *Comm) *Comm {
	dup := &Comm{p: c.p, hidden: true}
	dup.state.Store(commNotMade)
	return dup
}
