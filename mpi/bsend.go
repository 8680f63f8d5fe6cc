package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/mpi/core"
)

// AttachBuffer gives the process memory for buffered sends on communicators that have no buffer of
// their own (MPI_Buffer_attach; MPI-4.1, 3.6). The memory belongs to the library until
// DetachBuffer. A message occupies its data plus BsendOverhead bytes until it is sent. Only one
// buffer can be attached; errors have class ErrBuffer.
func (p *Process) AttachBuffer(mem []byte) (err error) {
	defer p.call("MPI_Buffer_attach", &err)()
	return p.bsends.attach(mem, false)
}

// AttachBufferAutomatic lets the library allocate memory for buffered sends as needed
// (MPI_BUFFER_AUTOMATIC; MPI-4.1, 3.6). Nothing limits this memory except how fast the receivers
// receive.
func (p *Process) AttachBufferAutomatic() (err error) {
	defer p.call("MPI_Buffer_attach", &err)()
	return p.bsends.attach(nil, true)
}

// DetachBuffer waits until all messages in the process's buffer are sent, and returns the buffer's
// memory (MPI_Buffer_detach; MPI-4.1, 3.6). If ctx ends first, DetachBuffer returns ctx's error and
// the buffer stays attached. Any other error is that of a message that could not be sent.
func (p *Process) DetachBuffer(ctx context.Context) (mem []byte, err error) {
	defer p.call("MPI_Buffer_detach", &err)()
	return p.bsends.detach(orBackground(ctx))
}

// FlushBuffer waits until all messages in the process's buffer are sent (MPI_Buffer_flush; MPI-4.1,
// 3.6).
func (p *Process) FlushBuffer(ctx context.Context) (err error) {
	defer p.call("MPI_Buffer_flush", &err)()
	return p.bsends.flush(orBackground(ctx))
}

// AttachBuffer gives the communicator memory of its own for buffered sends, which then do not use
// the process's buffer (MPI_Comm_attach_buffer; MPI-4.1, 3.6). See Process.AttachBuffer. Detach it
// before the communicator is freed.
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

// sendBuffered copies the message into the communicator's buffer, or into the process's if the
// communicator has none, and posts its send.
func (c *Comm) sendBuffered(b core.Buffer, dst, tag int) error {
	buffer := &c.bsends
	if !buffer.isAttached() {
		buffer = &c.p.bsends
	}
	return buffer.send(c.p2p, b, dst, tag)
}

// startBuffered is sendBuffered with a request, which is already complete.
func (c *Comm) startBuffered(b core.Buffer, dst, tag int) (core.Request, error) {
	if err := c.sendBuffered(b, dst, tag); err != nil {
		return core.Request{}, err
	}
	r, end := c.p.engine.NewOp(nil)
	end(core.Empty, nil)
	return r, nil
}
