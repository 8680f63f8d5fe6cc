package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/core"
)

// Recv receives the next message from rank src with a tag into xs, and waits for it (MPI_Recv;
// MPI-4.1, 3.2.4). src may be AnySource and tag AnyTag; the Status tells the actual values. A
// message may be shorter than xs; GetCount tells its length. If it is longer, xs gets the part that
// fits, and the error has class ErrTruncate. Other errors have class ErrComm, ErrRank, ErrTag,
// ErrType (no datatype for T, or one that would receive some bytes twice), ErrProcFailed and
// ErrProcFailedPending.
func Recv[T any](c *Comm, xs []T, src, tag int) (Status, error) {
	if isScalar[T]() && !c.hooked() {
		return c.recvBytes(bytesOf(xs), src, tag)
	}
	b, err := bufferOf(xs)
	if err != nil {
		return emptyStatus, c.refuse("MPI_Recv", err)
	}
	return c.RecvBuffer(b, src, tag)
}

// Irecv begins a Recv (MPI_Irecv; MPI-4.1, 3.7.2). xs belongs to the library until the request
// ends.
func Irecv[T any](c *Comm, xs []T, src, tag int) (Request, error) {
	if isScalar[T]() && !c.hooked() {
		return c.irecvBytes(bytesOf(xs), src, tag)
	}
	b, err := bufferOf(xs)
	if err != nil {
		return Request{}, c.refuse("MPI_Irecv", err)
	}
	return c.IrecvBuffer(b, src, tag)
}

// RecvBuffer is Recv into a Buffer.
func (c *Comm) RecvBuffer(b Buffer, src, tag int) (Status, error) {
	var call *Call
	if c.hooked() {
		call = c.enter(Call{Name: "MPI_Recv", Comm: c, Peer: src, Tag: tag, Bytes: dataBytes(b)})
	}
	st, err := c.recvUnseen(b, src, tag)
	if err != nil || call != nil {
		err = c.leave(call, err)
	}
	return st, err
}

func (c *Comm) recvUnseen(b core.Buffer, src, tag int) (Status, error) {
	if err := c.checkRecv(src, tag); err != nil {
		return emptyStatus, err
	}
	st, err := c.p2p.Recv(b, src, tag)
	return Status(st), err
}

// IrecvBuffer is Irecv into a Buffer.
func (c *Comm) IrecvBuffer(b Buffer, src, tag int) (Request, error) {
	var call *Call
	if c.hooked() {
		call = c.enter(Call{Name: "MPI_Irecv", Comm: c, Peer: src, Tag: tag, Bytes: dataBytes(b)})
	}
	r, err := c.irecvUnseen(b, src, tag)
	return r, c.leave(call, err)
}

func (c *Comm) irecvUnseen(b core.Buffer, src, tag int) (Request, error) {
	if err := c.checkRecv(src, tag); err != nil {
		return Request{}, err
	}
	r, err := c.p2p.Irecv(b, src, tag)
	if err != nil {
		return Request{}, err
	}
	return c.request(r), nil
}

// RecvContext is Recv that ends with ctx's error when ctx ends, even if the sender has stalled. A
// message that has begun to move by then has another second (Limits.LateTimeMax) to arrive. If it
// arrives it is received; if not, it is lost. In any case xs belongs to the caller again. A message
// that is too large to travel at once is received through memory of the library, which costs one
// copy more than Recv. Irecv and WaitContext need no copy and lose no message.
func RecvContext[T any](ctx context.Context, c *Comm, xs []T, src, tag int) (Status, error) {
	b, err := bufferOf(xs)
	if err != nil {
		return emptyStatus, c.refuse("MPI_Recv", err)
	}
	call := c.enter(Call{Name: "MPI_Recv", Comm: c, Peer: src, Tag: tag, Bytes: dataBytes(b)})
	st, err := c.recvContext(orBackground(ctx), b, src, tag)
	return st, c.leave(call, err)
}

func (c *Comm) recvContext(ctx context.Context, b core.Buffer, src, tag int) (Status, error) {
	if err := c.checkRecv(src, tag); err != nil {
		return emptyStatus, err
	}
	st, err := c.p2p.RecvContext(ctx, b, src, tag)
	return Status(st), err
}
