package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// SendInit makes a persistent Send of xs, which Start begins as often as needed (MPI_Send_init;
// MPI-4.1, 3.9).
func SendInit[T any](c *Comm, xs []T, dst, tag int) (Request, error) {
	return sendInit(c, core.Standard, xs, dst, tag)
}

// SsendInit makes a persistent Ssend (MPI_Ssend_init; MPI-4.1, 3.9).
func SsendInit[T any](c *Comm, xs []T, dst, tag int) (Request, error) {
	return sendInit(c, core.Synchronous, xs, dst, tag)
}

// RsendInit makes a persistent Rsend (MPI_Rsend_init; MPI-4.1, 3.9).
func RsendInit[T any](c *Comm, xs []T, dst, tag int) (Request, error) {
	return sendInit(c, core.Ready, xs, dst, tag)
}

// BsendInit makes a persistent Bsend: Start copies xs (MPI_Bsend_init; MPI-4.1, 3.9).
func BsendInit[T any](c *Comm, xs []T, dst, tag int) (Request, error) {
	return sendInit(c, core.Buffered, xs, dst, tag)
}

// RecvInit makes a persistent Recv (MPI_Recv_init; MPI-4.1, 3.9).
func RecvInit[T any](c *Comm, xs []T, src, tag int) (Request, error) {
	b, err := bufferOf(xs)
	if err != nil {
		return Request{}, c.refuse("MPI_Recv_init", err)
	}
	return c.RecvInitBuffer(b, src, tag)
}

var sendInitNames = [...]string{core.Standard: "MPI_Send_init", core.Synchronous: "MPI_Ssend_init", core.Ready: "MPI_Rsend_init", core.Buffered: "MPI_Bsend_init"}

func sendInit[T any](c *Comm, mode core.Mode, xs []T, dst, tag int) (Request, error) {
	b, err := bufferOf(xs)
	if err != nil {
		return Request{}, c.refuse(sendInitNames[mode], err)
	}
	return c.sendInit(mode, b, dst, tag)
}

// SendInitBuffer is SendInit of a Buffer.
func (c *Comm) SendInitBuffer(b Buffer, dst, tag int) (Request, error) {
	return c.sendInit(core.Standard, b, dst, tag)
}

// SsendInitBuffer is SsendInit of a Buffer.
func (c *Comm) SsendInitBuffer(b Buffer, dst, tag int) (Request, error) {
	return c.sendInit(core.Synchronous, b, dst, tag)
}

// RsendInitBuffer is RsendInit of a Buffer.
func (c *Comm) RsendInitBuffer(b Buffer, dst, tag int) (Request, error) {
	return c.sendInit(core.Ready, b, dst, tag)
}

// BsendInitBuffer is BsendInit of a Buffer.
func (c *Comm) BsendInitBuffer(b Buffer, dst, tag int) (Request, error) {
	return c.sendInit(core.Buffered, b, dst, tag)
}

// RecvInitBuffer is RecvInit of a Buffer.
func (c *Comm) RecvInitBuffer(b Buffer, src, tag int) (r Request, err error) {
	defer c.callWith(Call{Name: "MPI_Recv_init", Comm: c, Peer: src, Tag: tag, Bytes: dataBytes(b)}, &err)()
	if err := c.checkRecv(src, tag); err != nil {
		return Request{}, err
	}
	got, err := c.p2p.RecvInit(b, src, tag)
	if err != nil {
		return Request{}, err
	}
	return c.request(got), nil
}

func (c *Comm) sendInit(mode core.Mode, b core.Buffer, dst, tag int) (r Request, err error) {
	defer c.callWith(Call{Name: sendInitNames[mode], Comm: c, Peer: dst, Tag: tag, Bytes: dataBytes(b)}, &err)()
	if err := c.checkSend(dst, tag); err != nil {
		return Request{}, err
	}
	if mode == core.Buffered {
		if _, err := packSize(b); err != nil {
			return Request{}, err
		}
		return c.persistent(func() (core.Request, error) { return c.startBuffered(b, dst, tag) }), nil
	}
	got, err := c.p2p.SendInit(mode, b, dst, tag)
	if err != nil {
		return Request{}, err
	}
	return c.request(got), nil
}

// Start begins a round of a persistent request (MPI_Start; MPI-4.1, 3.9). If the request is not
// persistent or already active, the error has class ErrRequest.
func (r Request) Start() (err error) {
	defer r.comm().call("MPI_Start", &err)()
	return r.begin()
}

// StartAll starts persistent requests in order, up to the first that fails (MPI_Startall;
// MPI-4.1, 3.9).
func StartAll(reqs ...Request) (err error) {
	defer commOf(reqs).call("MPI_Startall", &err)()
	for _, r := range reqs {
		if err := r.begin(); err != nil {
			return err
		}
	}
	return nil
}

func (r Request) begin() error {
	if r.from == nil {
		return errNullRequest
	}
	if err := r.from.comm.checkLive(); err != nil {
		return err
	}
	if r.from.start == nil {
		return r.r.Start()
	}
	return r.from.begin()
}

// begin begins a round of an operation that the engine does not manage.
func (o *origin) begin() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.freed {
		return errclass.New(errclass.Request, "the persistent request has been freed")
	}
	if _, done, err := o.round.Test(); err != nil {
		return err // of a round that the caller did not wait for
	} else if !done {
		return errclass.New(errclass.Request, "the persistent request is active: wait for it before it is started again")
	}
	round, err := o.start()
	if err != nil {
		return err
	}
	o.round = round
	return nil
}
