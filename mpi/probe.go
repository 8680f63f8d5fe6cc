package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Probe waits for a message that a receive from src with tag would match, and leaves it unreceived
// (MPI_Probe; MPI-4.1, 3.8.1). The Status tells its source, tag and length. If several goroutines
// receive, another may receive the message first: see Mprobe.
func (c *Comm) Probe(src, tag int) (Status, error) { return c.ProbeContext(background, src, tag) }

// ProbeContext is Probe that ends with ctx's error when ctx ends.
func (c *Comm) ProbeContext(ctx context.Context, src, tag int) (st Status, err error) {
	defer c.callWith(Call{Name: "MPI_Probe", Comm: c, Peer: src, Tag: tag}, &err)()
	if err := c.checkRecv(src, tag); err != nil {
		return emptyStatus, err
	}
	got, err := c.p2p.Probe(orBackground(ctx), src, tag)
	return Status(got), err
}

// Iprobe tells whether a message is there now that a receive from src with tag would match
// (MPI_Iprobe; MPI-4.1, 3.8.1).
func (c *Comm) Iprobe(src, tag int) (st Status, there bool, err error) {
	defer c.callWith(Call{Name: "MPI_Iprobe", Comm: c, Peer: src, Tag: tag}, &err)()
	if err := c.checkRecv(src, tag); err != nil {
		return emptyStatus, false, err
	}
	got, there, err := c.p2p.Iprobe(src, tag)
	yieldUnless(there)
	return Status(got), there, err
}

// A Message is a message that a matched probe has reserved for the caller. Mrecv or Imrecv receives
// it, once (MPI-4.1, 3.8.2). A nil Message is MPI_MESSAGE_NULL.
type Message struct {
	m *core.Message
	c *Comm
}

// Mprobe waits for a message that a receive from src with tag would match, and reserves it: no
// other receive can match it (MPI_Mprobe; MPI-4.1, 3.8.2).
func (c *Comm) Mprobe(src, tag int) (*Message, Status, error) {
	return c.MprobeContext(background, src, tag)
}

// MprobeContext is Mprobe that ends with ctx's error when ctx ends.
func (c *Comm) MprobeContext(ctx context.Context, src, tag int) (m *Message, st Status, err error) {
	defer c.callWith(Call{Name: "MPI_Mprobe", Comm: c, Peer: src, Tag: tag}, &err)()
	if err := c.checkRecv(src, tag); err != nil {
		return nil, emptyStatus, err
	}
	got, err := c.p2p.Mprobe(orBackground(ctx), src, tag)
	if err != nil {
		return nil, emptyStatus, err
	}
	return &Message{m: got, c: c}, Status(got.Status()), nil
}

// Improbe is Mprobe without waiting (MPI_Improbe; MPI-4.1, 3.8.2).
func (c *Comm) Improbe(src, tag int) (m *Message, st Status, there bool, err error) {
	defer c.callWith(Call{Name: "MPI_Improbe", Comm: c, Peer: src, Tag: tag}, &err)()
	if err := c.checkRecv(src, tag); err != nil {
		return nil, emptyStatus, false, err
	}
	got, there, err := c.p2p.Improbe(src, tag)
	yieldUnless(there)
	if err != nil || !there {
		return nil, emptyStatus, false, err
	}
	return &Message{m: got, c: c}, Status(got.Status()), true, nil
}

// Mrecv receives a message that a matched probe has reserved, and waits for it (MPI_Mrecv; MPI-4.1,
// 3.8.3). The error has class ErrTruncate if the message is longer than xs, and ErrRequest if it
// has been received before.
func Mrecv[T any](m *Message, xs []T) (Status, error) {
	b, err := bufferOf(xs)
	if err != nil {
		return emptyStatus, m.comm().refuse("MPI_Mrecv", err)
	}
	return m.RecvBuffer(b)
}

// Imrecv begins an Mrecv (MPI_Imrecv; MPI-4.1, 3.8.3).
func Imrecv[T any](m *Message, xs []T) (Request, error) {
	b, err := bufferOf(xs)
	if err != nil {
		return Request{}, m.comm().refuse("MPI_Imrecv", err)
	}
	return m.IrecvBuffer(b)
}

// RecvBuffer is Mrecv into a Buffer.
func (m *Message) RecvBuffer(b Buffer) (st Status, err error) {
	c := m.comm()
	defer c.callWith(Call{Name: "MPI_Mrecv", Comm: c, Peer: Undefined, Tag: Undefined, Bytes: dataBytes(b)}, &err)()
	if m == nil {
		return emptyStatus, errNullMessage
	}
	got, err := m.m.Recv(b)
	return Status(got), err
}

// IrecvBuffer is Imrecv into a Buffer.
func (m *Message) IrecvBuffer(b Buffer) (r Request, err error) {
	c := m.comm()
	defer c.callWith(Call{Name: "MPI_Imrecv", Comm: c, Peer: Undefined, Tag: Undefined, Bytes: dataBytes(b)}, &err)()
	if m == nil {
		return Request{}, errNullMessage
	}
	got, err := m.m.Irecv(b)
	if err != nil {
		return Request{}, err
	}
	return c.request(got), nil
}

// comm returns the communicator of the message, or nil for MPI_MESSAGE_NULL.
func (m *Message) comm() *Comm {
	if m == nil {
		return nil
	}
	return m.c
}

var errNullMessage = errclass.New(errclass.Request, "the message is nil: give one that a matched probe has returned")
