package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Probe waits for a message that a receive from src with tag would match, and leaves it unreceived
// (MPI_Probe; MPI-4.1, 3.8.1). The Status tells its source, tag and length. If several goroutines
// receive, another may receive the message first: see Mprobe. If ctx ends first, Probe returns its
// error.
func (c *Comm) Probe(ctx context.Context, src, tag int) (st Status, err error) {
	defer c.callWith(Call{Name: "MPI_Probe", Comm: c, Peer: src, Tag: tag}, &err)()
	if err := c.checkFrom(src, tag); err != nil {
		return emptyStatus, err
	}
	got, err := c.p2p.Probe(orBackground(ctx), src, tag)
	return statusOf(got), err
}

// Iprobe tells whether a message is there now that a receive from src with tag would match
// (MPI_Iprobe; MPI-4.1, 3.8.1).
func (c *Comm) Iprobe(src, tag int) (st Status, there bool, err error) {
	defer c.callWith(Call{Name: "MPI_Iprobe", Comm: c, Peer: src, Tag: tag}, &err)()
	if err := c.checkFrom(src, tag); err != nil {
		return emptyStatus, false, err
	}
	got, there, err := c.p2p.Iprobe(src, tag)
	yieldUnless(there)
	return statusOf(got), there, err
}

// A Message is a message that a matched probe has reserved for the caller. Recv or Irecv receives it,
// once (MPI-4.1, 3.8.2). A nil Message is MPI_MESSAGE_NULL.
type Message struct {
	m *core.Message
	c *Comm
}

// Mprobe waits for a message that a receive from src with tag would match, and reserves it: no
// other receive can match it (MPI_Mprobe; MPI-4.1, 3.8.2). If ctx ends first, Mprobe returns its
// error.
func (c *Comm) Mprobe(ctx context.Context, src, tag int) (m *Message, st Status, err error) {
	defer c.callWith(Call{Name: "MPI_Mprobe", Comm: c, Peer: src, Tag: tag}, &err)()
	if err := c.checkFrom(src, tag); err != nil {
		return nil, emptyStatus, err
	}
	got, err := c.p2p.Mprobe(orBackground(ctx), src, tag)
	if err != nil {
		return nil, emptyStatus, err
	}
	return &Message{m: got, c: c}, statusOf(got.Status()), nil
}

// Improbe is Mprobe without waiting (MPI_Improbe; MPI-4.1, 3.8.2).
func (c *Comm) Improbe(src, tag int) (m *Message, st Status, there bool, err error) {
	defer c.callWith(Call{Name: "MPI_Improbe", Comm: c, Peer: src, Tag: tag}, &err)()
	if err := c.checkFrom(src, tag); err != nil {
		return nil, emptyStatus, false, err
	}
	got, there, err := c.p2p.Improbe(src, tag)
	yieldUnless(there)
	if err != nil || !there {
		return nil, emptyStatus, false, err
	}
	return &Message{m: got, c: c}, statusOf(got.Status()), true, nil
}

// Recv receives a message that a matched probe has reserved, and waits for it (MPI_Mrecv; MPI-4.1,
// 3.8.3). The error has class ErrTruncate if the message is longer than b, and ErrRequest if it has
// been received before. ctx has the effect that it has in Comm.Recv.
func (m *Message) Recv(ctx context.Context, b Buffer) (Status, error) {
	call := m.comm().enterIf("MPI_Mrecv", Undefined, Undefined, &b)
	st := emptyStatus
	err := m.check(&b)
	if err == nil {
		var got core.Status
		got, err = m.m.Recv(orBackground(ctx), b.core())
		st = statusOf(got)
	}
	return st, m.comm().leave(call, err)
}

// Irecv begins a Recv (MPI_Imrecv; MPI-4.1, 3.8.3).
func (m *Message) Irecv(b Buffer) Request {
	call := m.comm().enterIf("MPI_Imrecv", Undefined, Undefined, &b)
	var r Request
	err := m.check(&b)
	if err == nil {
		var got core.Request
		if got, err = m.m.Irecv(b.core()); err == nil {
			r = m.c.request(got)
		}
	}
	m.comm().seen(call, err)
	return m.comm().began(r, err)
}

func (m *Message) check(b *Buffer) error {
	if m == nil {
		return errNullMessage
	}
	return memory(b)
}

// comm returns the communicator of the message, or nil for MPI_MESSAGE_NULL.
func (m *Message) comm() *Comm {
	if m == nil {
		return nil
	}
	return m.c
}

var errNullMessage = errclass.New(errclass.Request, "the message is nil: give one that a matched probe has returned")
