package mpi

import (
	"context"
	"errors"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// The MPI names of sends, by mode.
var (
	sendNames     = [...]string{core.Standard: "MPI_Send", core.Synchronous: "MPI_Ssend", core.Ready: "MPI_Rsend", core.Buffered: "MPI_Bsend"}
	isendNames    = [...]string{core.Standard: "MPI_Isend", core.Synchronous: "MPI_Issend", core.Ready: "MPI_Irsend", core.Buffered: "MPI_Ibsend"}
	sendInitNames = [...]string{core.Standard: "MPI_Send_init", core.Synchronous: "MPI_Ssend_init", core.Ready: "MPI_Rsend_init", core.Buffered: "MPI_Bsend_init"}
)

// Send sends b to rank dst, and returns when its memory may be changed again (MPI_Send, MPI_Ssend,
// MPI_Rsend, MPI_Bsend; MPI-4.1, 3.2.1 and 3.4). That may be before or only after the message is
// received; how takes Synchronous, Ready and Buffered. The tag is 0 to TagUB. Errors have class
// ErrComm, ErrRank, ErrTag, ErrType (elements without a datatype), ErrBuffer and ErrProcFailed.
//
// If ctx ends first, Send takes the message back and returns ctx's error. If the message is being
// received already, Send ends as it would otherwise.
func (c *Comm) Send(ctx context.Context, b Buffer, dst, tag int, how ...Mode) error {
	if b.isPlain() && len(how) == 0 && endless(ctx) && !c.hooked() {
		return c.sendPlain(b.mem(), dst, tag)
	}
	mode, err := sendMode(how)
	call := c.enterIf(sendNames[mode], dst, tag, &b)
	if err == nil {
		err = c.sendBuffer(orBackground(ctx), mode, &b, dst, tag)
	}
	return c.leave(call, err)
}

// sendPlain sends numbers when no hook is set: nearly all small messages.
func (c *Comm) sendPlain(mem []byte, dst, tag int) error {
	if err := c.checkLive(); err != nil {
		return c.fail(err)
	}
	if err := c.p2p.SendBytes(core.Standard, mem, dst, tag); err != nil {
		return c.fail(c.explainSend(err, dst, tag))
	}
	return nil
}

func (c *Comm) sendBuffer(ctx context.Context, mode core.Mode, b *Buffer, dst, tag int) error {
	if err := c.checkSend(b, dst, tag); err != nil {
		return err
	}
	switch {
	case mode == core.Buffered:
		return c.sendBuffered(b.core(), dst, tag)
	case endless(ctx):
		return c.p2p.Send(mode, b.core(), dst, tag)
	}
	r, err := c.p2p.Isend(mode, b.core(), dst, tag)
	if err != nil {
		return err
	}
	_, err = waitOrCancel(ctx, r)
	return err
}

// waitOrCancel waits for an operation, and cancels it if ctx ends first. The operation has ended
// when it returns: with ctx's error, or as usual if it could no longer be cancelled.
func waitOrCancel(ctx context.Context, r core.Request) (core.Status, error) {
	st, err := r.Wait(ctx)
	if err == nil || !errors.Is(err, ctx.Err()) {
		return st, err
	}
	_ = r.Cancel() // too late if it has ended
	st, ended := r.Wait(background)
	if ended == nil && st.Cancelled {
		return core.Empty, err
	}
	return st, ended
}

// endless tells whether a context never ends.
func endless(ctx context.Context) bool { return ctx == nil || ctx.Done() == nil }

// Isend begins a Send (MPI_Isend, MPI_Send_init and their modes; MPI-4.1, 3.7.2 and 3.9). The memory
// must not be changed until the request has ended. how takes Persistent as well.
func (c *Comm) Isend(b Buffer, dst, tag int, how ...Mode) Request {
	if b.isPlain() && len(how) == 0 && !c.hooked() {
		return c.isendPlain(b.mem(), dst, tag)
	}
	mode, persistent, err := sendModes(how)
	names := &isendNames
	if persistent {
		names = &sendInitNames
	}
	call := c.enterIf(names[mode], dst, tag, &b)
	var r Request
	if err == nil {
		r, err = c.isendBuffer(mode, persistent, &b, dst, tag)
	}
	c.seen(call, err)
	return c.began(r, err)
}

func (c *Comm) isendPlain(mem []byte, dst, tag int) Request {
	if err := c.checkLive(); err != nil {
		return c.began(Request{}, err)
	}
	r, err := c.p2p.IsendBytes(core.Standard, mem, dst, tag)
	if err != nil {
		return c.began(Request{}, c.explainSend(err, dst, tag))
	}
	return c.request(r)
}

func (c *Comm) isendBuffer(mode core.Mode, persistent bool, b *Buffer, dst, tag int) (Request, error) {
	if err := c.checkSend(b, dst, tag); err != nil {
		return Request{}, err
	}
	var r core.Request
	var err error
	switch {
	case mode == core.Buffered && persistent:
		if _, err := packSize(b.core()); err != nil {
			return Request{}, err
		}
		msg := b.core()
		return c.persistent(func() (core.Request, error) { return c.startBuffered(msg, dst, tag) }), nil
	case mode == core.Buffered:
		r, err = c.startBuffered(b.core(), dst, tag)
	case persistent:
		r, err = c.p2p.SendInit(mode, b.core(), dst, tag)
	default:
		r, err = c.p2p.Isend(mode, b.core(), dst, tag)
	}
	if err != nil {
		return Request{}, err
	}
	return c.request(r), nil
}

// explainSend is the error of a send: what is wrong with its arguments, which package core checks
// too, but cannot explain as well, or err.
func (c *Comm) explainSend(err error, dst, tag int) error {
	if wrong := c.checkTo(dst, tag); wrong != nil {
		return wrong
	}
	return err
}
