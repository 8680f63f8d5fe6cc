package mpi

import "github.com/viaduct-hpc/viaduct/mpi/core"

// These calls send and receive numbers when no hook is set: nearly all small messages. Numbers are
// plain bytes and need no Buffer.

func (c *Comm) sendBytes(mem []byte, dst, tag int) error {
	if err := c.checkLive(); err != nil {
		return c.fail(err)
	}
	if err := c.p2p.SendBytes(core.Standard, mem, dst, tag); err != nil {
		return c.fail(c.explainSend(err, dst, tag))
	}
	return nil
}

func (c *Comm) isendBytes(mem []byte, dst, tag int) (Request, error) {
	if err := c.checkLive(); err != nil {
		return Request{}, c.fail(err)
	}
	r, err := c.p2p.IsendBytes(core.Standard, mem, dst, tag)
	if err != nil {
		return Request{}, c.fail(c.explainSend(err, dst, tag))
	}
	return c.request(r), nil
}

func (c *Comm) recvBytes(mem []byte, src, tag int) (Status, error) {
	if err := c.checkLive(); err != nil {
		return emptyStatus, c.fail(err)
	}
	st, err := c.p2p.RecvBytes(mem, src, tag)
	if err != nil {
		err = c.fail(c.explainRecv(err, src, tag))
	}
	return Status(st), err
}

func (c *Comm) irecvBytes(mem []byte, src, tag int) (Request, error) {
	if err := c.checkLive(); err != nil {
		return Request{}, c.fail(err)
	}
	r, err := c.p2p.IrecvBytes(mem, src, tag)
	if err != nil {
		return Request{}, c.fail(c.explainRecv(err, src, tag))
	}
	return c.request(r), nil
}

// explainSend is the error of a send: what is wrong with its arguments, which package core checks
// too, but cannot explain as well, or err.
func (c *Comm) explainSend(err error, dst, tag int) error {
	if wrong := c.checkSend(dst, tag); wrong != nil {
		return wrong
	}
	return err
}

// explainRecv is explainSend of a receive.
func (c *Comm) explainRecv(err error, src, tag int) error {
	if wrong := c.checkRecv(src, tag); wrong != nil {
		return wrong
	}
	return err
}
