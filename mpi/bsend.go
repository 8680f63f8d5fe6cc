package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/core"
)

// AttachBuffer gives the process memory for buffered sends on communicators that have none
// of their own (MPI_Buffer_attach; MPI-4.1, 3.6). It is the library's until DetachBuffer.
// A message takes BsendOverhead bytes more than its data until it is out. Only one buffer
// can be attached; the class of errors is ErrBuffer.
func (p *Process) AttachBuffer(mem []byte) (err error) {
	defer p.call("MPI_Buffer_attach", &err)()
	return p.bsends.attach(mem, false)
}

// AttachBufferAutomatic has the library make the memory for buffered sends as it is needed
// (MPI_BUFFER_AUTOMATIC; MPI-4.1, 3.6). Nothing bounds it but how fast others receive.
func (p *Process) AttachBufferAutomatic() (err error) {
	defer p.call("MPI_Buffer_attach", &err)()
	return p.bsends.attach(nil, true)
}

// DetachBuffer waits until all messages in the process's buffer are out, and gives its
// memory back (MPI_Buffer_detach; MPI-4.1, 3.6). An error is ctx's, and then the buffer
// stays attached, or that of a message that could not be sent.
func (p *Process) DetachBuffer(ctx context.Context) (mem []byte, err error) {
	defer p.call("MPI_Buffer_detach", &err)()
	return p.bsends.detach(orBackground(ctx))
}

// FlushBuffer waits until all messages in the process's buffer are out (MPI_Buffer_flush;
// MPI-4.1, 3.6).
func (p *Process) FlushBuffer(ctx context.Context) (err error) {
	defer p.call("MPI_Buffer_flush", &err)()
	return p.bsends.flush(orBackground(ctx))
}

// AttachBuffer gives the communicator memory for its buffered sends, which then do not use
// the process's (MPI_Comm_attach_buffer; MPI-4.1, 3.6). See Process.AttachBuffer. It has
// to be detached before the communicator is freed.
func (c *Comm) AttachBuffer(mem []byte) (err error) {
	defer c.call("MPI_Comm_attach_buffer", &err)()
	if err := c.checkLive(); err != nil {
		return err
	}
	return c.bsends.attach(mem, false)
}

// AttachBufferAutomatic is Process.AttachBufferAutomatic for one communicator (MPI-4.1,
// 3.6).
func (c *Comm) AttachBufferAutomatic() (err error) {
	defer c.call("MPI_Comm_attach_buffer", &err)()
	if err := c.checkLive(); err != nil {
		return err
	}
	return c.bsends.attach(nil, true)
}

// DetachBuffer is Process.DetachBuffer for the communicator's own buffer
// (MPI_Comm_detach_buffer; MPI-4.1, 3.6).
func (c *Comm) DetachBuffer(ctx context.Context) (mem []byte, err error) {
	defer c.call("MPI_Comm_detach_buffer", &err)()
	if err := c.checkLive(); err != nil {
		return nil, err
	}
	return c.bsends.detach(orBackground(ctx))
}

// FlushBuffer is Process.FlushBuffer for the communicator's own buffer
// (MPI_Comm_flush_buffer; MPI-4.1, 3.6).
func (c *Comm) FlushBuffer(ctx context.Context) (err error) {
	defer c.call("MPI_Comm_flush_buffer", &err)()
	if err := c.checkLive(); err != nil {
		return err
	}
	return c.bsends.flush(orBackground(ctx))
}

// sendBuffered is a buffered send: it copies the message into the communicator's buffer, or
// else the process's.
func (c *Comm) sendBuffered(b core.Buffer, dst, tag int) error {
	buffer := &c.bsends
	if !buffer.isAttached() {
		buffer = &c.p.bsends
	}
	return buffer.send(c.p2p, b, dst, tag)
}

// startBuffered is sendBuffered for who wants a request: it has ended already.
func (c *Comm) startBuffered(b core.Buffer, dst, tag int) (core.Request, error) {
	if err := c.sendBuffered(b, dst, tag); err != nil {
		return core.Request{}, err
	}
	r, end := c.p.engine.NewOp(nil)
	end(core.Empty, nil)
	return r, nil
}
