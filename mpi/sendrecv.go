package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/core"
)

// Sendrecv sends out to rank dst and receives into in from rank src, both at once, so that
// processes in a ring do not wait for one another for ever (MPI_Sendrecv; MPI-4.1, 3.10). It
// returns the Status of the receive. The errors are those of Send and Recv.
func Sendrecv[T, U any](c *Comm, out []T, dst, sendTag int, in []U, src, recvTag int) (Status, error) {
	send, err := bufferOf(out)
	if err != nil {
		return emptyStatus, c.refuse("MPI_Sendrecv", err)
	}
	recv, err := bufferOf(in)
	if err != nil {
		return emptyStatus, c.refuse("MPI_Sendrecv", err)
	}
	return c.SendrecvBuffer(send, dst, sendTag, recv, src, recvTag)
}

// SendrecvReplace sends xs and receives into it (MPI_Sendrecv_replace; MPI-4.1, 3.10). See
// Sendrecv.
func SendrecvReplace[T any](c *Comm, xs []T, dst, sendTag, src, recvTag int) (Status, error) {
	b, err := bufferOf(xs)
	if err != nil {
		return emptyStatus, c.refuse("MPI_Sendrecv_replace", err)
	}
	return c.SendrecvReplaceBuffer(b, dst, sendTag, src, recvTag)
}

// Isendrecv begins a Sendrecv (MPI_Isendrecv; MPI-4.1, 3.10). The request stands for both;
// its Status is that of the receive.
func Isendrecv[T, U any](c *Comm, out []T, dst, sendTag int, in []U, src, recvTag int) (Request, error) {
	send, err := bufferOf(out)
	if err != nil {
		return Request{}, c.refuse("MPI_Isendrecv", err)
	}
	recv, err := bufferOf(in)
	if err != nil {
		return Request{}, c.refuse("MPI_Isendrecv", err)
	}
	return c.IsendrecvBuffer(send, dst, sendTag, recv, src, recvTag)
}

// IsendrecvReplace begins a SendrecvReplace (MPI_Isendrecv_replace; MPI-4.1, 3.10).
func IsendrecvReplace[T any](c *Comm, xs []T, dst, sendTag, src, recvTag int) (Request, error) {
	b, err := bufferOf(xs)
	if err != nil {
		return Request{}, c.refuse("MPI_Isendrecv_replace", err)
	}
	return c.IsendrecvReplaceBuffer(b, dst, sendTag, src, recvTag)
}

// SendrecvBuffer is Sendrecv of Buffers.
func (c *Comm) SendrecvBuffer(out Buffer, dst, sendTag int, in Buffer, src, recvTag int) (Status, error) {
	var call *Call
	if c.hooked() {
		call = c.enter(Call{Name: "MPI_Sendrecv", Comm: c, Peer: dst, Tag: sendTag, Bytes: dataBytes(out)})
	}
	st, err := c.exchange(out, dst, sendTag, in, src, recvTag)
	return st, c.leave(call, err)
}

// SendrecvReplaceBuffer is SendrecvReplace of a Buffer.
func (c *Comm) SendrecvReplaceBuffer(b Buffer, dst, sendTag, src, recvTag int) (st Status, err error) {
	defer c.callWith(Call{Name: "MPI_Sendrecv_replace", Comm: c, Peer: dst, Tag: sendTag, Bytes: dataBytes(b)}, &err)()
	out, err := copied(b)
	if err != nil {
		return emptyStatus, err
	}
	return c.exchange(out, dst, sendTag, b, src, recvTag)
}

// IsendrecvBuffer is Isendrecv of Buffers.
func (c *Comm) IsendrecvBuffer(out Buffer, dst, sendTag int, in Buffer, src, recvTag int) (r Request, err error) {
	defer c.callWith(Call{Name: "MPI_Isendrecv", Comm: c, Peer: dst, Tag: sendTag, Bytes: dataBytes(out)}, &err)()
	return c.beginExchange(out, dst, sendTag, in, src, recvTag)
}

// IsendrecvReplaceBuffer is IsendrecvReplace of a Buffer.
func (c *Comm) IsendrecvReplaceBuffer(b Buffer, dst, sendTag, src, recvTag int) (r Request, err error) {
	defer c.callWith(Call{Name: "MPI_Isendrecv_replace", Comm: c, Peer: dst, Tag: sendTag, Bytes: dataBytes(b)}, &err)()
	out, err := copied(b)
	if err != nil {
		return Request{}, err
	}
	return c.beginExchange(out, dst, sendTag, b, src, recvTag)
}

func (c *Comm) exchange(out core.Buffer, dst, sendTag int, in core.Buffer, src, recvTag int) (Status, error) {
	if err := c.checkExchange(dst, sendTag, src, recvTag); err != nil {
		return emptyStatus, err
	}
	st, err := c.p2p.Exchange(out, dst, sendTag, in, src, recvTag)
	return Status(st), err
}

func (c *Comm) checkExchange(dst, sendTag, src, recvTag int) error {
	if err := c.checkSend(dst, sendTag); err != nil {
		return err
	}
	return c.checkRecv(src, recvTag)
}

// beginExchange posts both halves and returns one request that ends when both have ended.
func (c *Comm) beginExchange(out core.Buffer, dst, sendTag int, in core.Buffer, src, recvTag int) (Request, error) {
	if err := c.checkExchange(dst, sendTag, src, recvTag); err != nil {
		return Request{}, err
	}
	recv, err := c.p2p.Irecv(in, src, recvTag)
	if err != nil {
		return Request{}, err
	}
	send, err := c.p2p.Isend(core.Standard, out, dst, sendTag)
	if err != nil {
		_ = recv.Cancel() // the receive is not needed and ends at once
		_, _ = recv.Wait(background)
		return Request{}, err
	}
	both, end := c.p.engine.NewOp(func() {
		_ = recv.Cancel() // fails only if the receive has ended
	})
	go func() {
		_, sendErr := send.Wait(background)
		st, err := recv.Wait(background)
		if err == nil {
			err = sendErr
		}
		end(st, err)
	}()
	return c.request(both), nil
}

// copied returns a copy of a buffer's data.
func copied(b core.Buffer) (core.Buffer, error) {
	n, err := packSize(b)
	if err != nil {
		return core.Buffer{}, err
	}
	mem := make([]byte, n)
	return core.Buffer{Mem: mem}, pack(mem, b)
}
