package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// Recv receives the next message from rank src with a tag into b, and waits for it (MPI_Recv;
// MPI-4.1, 3.2.4). src may be AnySource and tag AnyTag; the Status tells the actual values. A
// message may be shorter than b; GetCount tells its length. If it is longer, b gets the part that
// fits, and the error has class ErrTruncate. Other errors have class ErrComm, ErrRank, ErrTag,
// ErrType (elements without a datatype, or a datatype that would receive some bytes twice),
// ErrBuffer, ErrProcFailed and ErrProcFailedPending.
//
// If ctx ends first, Recv returns its error, even if the sender has stalled. A message that has
// begun to move by then has another second (Limits.LateTimeMax) to arrive. If it arrives it is
// received; if not, it is lost. In any case the memory belongs to the caller again. So with a ctx
// that can end, a message that is too large to travel at once is received through memory of the
// library, which costs one copy more. Irecv and Request.Wait need no copy and lose no message.
func (c *Comm) Recv(ctx context.Context, b Buffer, src, tag int) (Status, error) {
	if b.isPlain() && endless(ctx) && !c.hooked() {
		return c.recvPlain(b.mem(), src, tag)
	}
	call := c.enterIf("MPI_Recv", src, tag, &b)
	st, err := c.recvBuffer(orBackground(ctx), &b, src, tag)
	return st, c.leave(call, err)
}

// recvPlain receives numbers when no hook is set.
func (c *Comm) recvPlain(mem []byte, src, tag int) (Status, error) {
	if err := c.checkLive(); err != nil {
		return emptyStatus, c.fail(err)
	}
	st, err := c.p2p.RecvBytes(mem, src, tag)
	if err != nil {
		err = c.fail(c.explainRecv(err, src, tag))
	}
	return statusOf(st), err
}

func (c *Comm) recvBuffer(ctx context.Context, b *Buffer, src, tag int) (Status, error) {
	if err := c.checkRecv(b, src, tag); err != nil {
		return emptyStatus, err
	}
	st, err := c.p2p.RecvContext(ctx, b.core(), src, tag)
	return statusOf(st), err
}

// Irecv begins a Recv (MPI_Irecv, MPI_Recv_init; MPI-4.1, 3.7.2 and 3.9). The memory belongs to the
// library until the request has ended. how takes Persistent.
func (c *Comm) Irecv(b Buffer, src, tag int, how ...Mode) Request {
	if b.isPlain() && len(how) == 0 && !c.hooked() {
		return c.irecvPlain(b.mem(), src, tag)
	}
	persistent, err := onlyPersistent(how)
	name := "MPI_Irecv"
	if persistent {
		name = "MPI_Recv_init"
	}
	call := c.enterIf(name, src, tag, &b)
	var r Request
	if err == nil {
		r, err = c.irecvBuffer(persistent, &b, src, tag)
	}
	c.seen(call, err)
	return c.began(r, err)
}

func (c *Comm) irecvPlain(mem []byte, src, tag int) Request {
	if err := c.checkLive(); err != nil {
		return c.began(Request{}, err)
	}
	r, err := c.p2p.IrecvBytes(mem, src, tag)
	if err != nil {
		return c.began(Request{}, c.explainRecv(err, src, tag))
	}
	return c.request(r)
}

func (c *Comm) irecvBuffer(persistent bool, b *Buffer, src, tag int) (Request, error) {
	if err := c.checkRecv(b, src, tag); err != nil {
		return Request{}, err
	}
	var r core.Request
	var err error
	if persistent {
		r, err = c.p2p.RecvInit(b.core(), src, tag)
	} else {
		r, err = c.p2p.Irecv(b.core(), src, tag)
	}
	if err != nil {
		return Request{}, err
	}
	return c.request(r), nil
}

// explainRecv is explainSend of a receive.
func (c *Comm) explainRecv(err error, src, tag int) error {
	if wrong := c.checkFrom(src, tag); wrong != nil {
		return wrong
	}
	return err
}
