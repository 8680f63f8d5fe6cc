package mpi

import "github.com/viaduct-hpc/viaduct/mpi/core"

// These calls send and receive numbers when no hook is set: nearly all small messages. Numbers are
// plain bytes and need no Buffer.

func (c *Comm) sendBytes(mem []byte, dst, tag int) error {
	err := c.checkSend(dst, tag)
	if err == nil {
		err = c.p2p.SendBytes(core.Standard, mem, dst, tag)
	}
	if err != nil {
		return c.fail(err)
	}
	return nil
}

func (c *Comm) isendBytes(mem []byte, dst, tag int) (Request, error) {
	err := c.checkSend(dst, tag)
	if err == nil {
		var r core.Request
		if r, err = c.p2p.IsendBytes(core.Standard, mem, dst, tag); err == nil {
			return c.request(r), nil
		}
	}
	return Request{}, c.fail(err)
}

func (c *Comm) recvBytes(mem []byte, src, tag int) (Status, error) {
	if err := c.checkRecv(src, tag); err != nil {
		return emptyStatus, c.fail(err)
	}
	st, err := c.p2p.RecvBytes(mem, src, tag)
	if err != nil {
		err = c.fail(err)
	}
	return Status(st), err
}

func (c *Comm) irecvBytes(mem []byte, src, tag int) (Request, error) {
	err := c.checkRecv(src, tag)
	if err == nil {
		var r core.Request
		if r, err = c.p2p.IrecvBytes(mem, src, tag); err == nil {
			return c.request(r), nil
		}
	}
	return Request{}, c.fail(err)
}
