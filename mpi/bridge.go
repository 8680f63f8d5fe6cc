package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/core"
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
		Enter: func(c *Comm, name string, rank, bytes int) *Call {
			if !c.hooked() {
				return nil
			}
			return c.enter(Call{Name: name, Comm: c, Peer: rank, Tag: Undefined, Bytes: bytes})
		},
		Leave: func(c *Comm, call *Call, err error) {
			if call != nil {
				c.p.hook.Leave(call, err)
			}
		},
	})
}
