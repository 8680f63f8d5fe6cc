package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// Sendrecv sends out to rank dst and receives into in from rank src, both at once, so that
// processes in a ring do not wait for one another for ever (MPI_Sendrecv; MPI-4.1, 3.10). If in is
// InPlace, out is sent and received into (MPI_Sendrecv_replace). It returns the Status of the
// receive. The errors are those of Send and Recv. If ctx ends first, what has not ended is
// cancelled.
func (c *Comm) Sendrecv(ctx context.Context, out Buffer, dst, sendTag int, in Buffer, src, recvTag int) (Status, error) {
	call := c.enterIf(sendrecvNames(&in)[0], dst, sendTag, &out)
	st, err := c.sendrecv(orBackground(ctx), &out, dst, sendTag, &in, src, recvTag)
	return st, c.leave(call, err)
}

// Isendrecv begins a Sendrecv (MPI_Isendrecv, MPI_Isendrecv_replace; MPI-4.1, 3.10). The request
// stands for both; its Status is that of the receive.
func (c *Comm) Isendrecv(out Buffer, dst, sendTag int, in Buffer, src, recvTag int) Request {
	call := c.enterIf(sendrecvNames(&in)[1], dst, sendTag, &out)
	var r Request
	from, to, err := c.exchangeOf(&out, dst, sendTag, &in, src, recvTag)
	if err == nil {
		r, err = c.beginExchange(from, dst, sendTag, to, src, recvTag)
	}
	c.seen(call, err)
	return c.began(r, err)
}

// sendrecvNames returns the MPI names of a Sendrecv and an Isendrecv.
func sendrecvNames(in *Buffer) [2]string {
	if in.isInPlace() {
		return [...]string{"MPI_Sendrecv_replace", "MPI_Isendrecv_replace"}
	}
	return [...]string{"MPI_Sendrecv", "MPI_Isendrecv"}
}

func (c *Comm) sendrecv(ctx context.Context, out *Buffer, dst, sendTag int, in *Buffer, src, recvTag int) (Status, error) {
	from, to, err := c.exchangeOf(out, dst, sendTag, in, src, recvTag)
	if err != nil {
		return emptyStatus, err
	}
	if endless(ctx) {
		st, err := c.p2p.Exchange(from, dst, sendTag, to, src, recvTag)
		return statusOf(st), err
	}
	r, err := c.beginExchange(from, dst, sendTag, to, src, recvTag)
	if err != nil {
		return emptyStatus, err
	}
	st, err := waitOrCancel(ctx, r.r)
	return statusOf(st), err
}

// exchangeOf checks the arguments of an exchange, and returns the engine's form of its buffers.
func (c *Comm) exchangeOf(out *Buffer, dst, sendTag int, in *Buffer, src, recvTag int) (from, to core.Buffer, err error) {
	replace := in.isInPlace()
	if replace {
		in = out
	}
	if err := c.checkSend(out, dst, sendTag); err != nil {
		return from, to, err
	}
	if err := c.checkRecv(in, src, recvTag); err != nil {
		return from, to, err
	}
	if !replace {
		return out.core(), in.core(), nil
	}
	from, err = copied(out.core())
	return from, in.core(), err
}

// beginExchange posts both halves and returns one request that ends when both have ended.
func (c *Comm) beginExchange(out core.Buffer, dst, sendTag int, in core.Buffer, src, recvTag int) (Request, error) {
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
		_ = send.Cancel() // likewise
	})
	go func() {
		sent, sendErr := send.Wait(background)
		st, err := recv.Wait(background)
		if err == nil {
			err = sendErr
		}
		st.Cancelled = st.Cancelled || sent.Cancelled
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
