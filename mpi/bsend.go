package mpi

import (
	"context"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
)

// AttachBuffer gives the communicator memory for buffered sends (MPI_Comm_attach_buffer; MPI-4.1,
// 3.6). The memory belongs to the library until DetachBuffer. A message occupies its data plus
// BsendOverhead bytes until it is sent. With nil memory, the library allocates what it needs
// (MPI_BUFFER_AUTOMATIC), which nothing limits except how fast the receivers receive. Communicators
// without a buffer of their own use that of World (MPI_Buffer_attach). Only one buffer can be
// attached; errors have class ErrBuffer. Detach it before the communicator is freed.
func (c *Comm) AttachBuffer(mem []byte) (err error) {
	defer c.call("MPI_Comm_attach_buffer", &err)()
	if err := c.checkLive(); err != nil {
		return err
	}
	return c.bsends.attach(mem, mem == nil)
}

// DetachBuffer waits until all messages in the communicator's buffer are sent, and returns the
// buffer's memory (MPI_Comm_detach_buffer, MPI_Buffer_detach; MPI-4.1, 3.6). If ctx ends first,
// DetachBuffer returns ctx's error and the buffer stays attached. Any other error is that of a
// message that could not be sent.
func (c *Comm) DetachBuffer(ctx context.Context) (mem []byte, err error) {
	defer c.call("MPI_Comm_detach_buffer", &err)()
	if err := c.checkLive(); err != nil {
		return nil, err
	}
	return c.bsends.detach(orBackground(ctx))
}

// FlushBuffer waits until all messages in the communicator's buffer are sent
// (MPI_Comm_flush_buffer, MPI_Buffer_flush; MPI-4.1, 3.6).
func (c *Comm) FlushBuffer(ctx context.Context) (err error) {
	defer c.call("MPI_Comm_flush_buffer", &err)()
	if err := c.checkLive(); err != nil {
		return err
	}
	return c.bsends.flush(orBackground(ctx))
}

// IflushBuffer is the non-blocking FlushBuffer (MPI_Comm_iflush_buffer, MPI_Buffer_iflush; MPI-4.1,
// 3.6).
func (c *Comm) IflushBuffer() Request {
	call := c.enterIf("MPI_Comm_iflush_buffer", Undefined, Undefined, &InPlace)
	r, err := c.beginFlush()
	c.seen(call, err)
	return c.began(r, err)
}

func (c *Comm) beginFlush() (Request, error) {
	if err := c.checkLive(); err != nil { // hold needs a communicator
		return Request{}, err
	}
	if err := c.hold(); err != nil {
		return Request{}, err
	}
	r, t := c.newTask(func() (core.Status, error) { return core.Empty, c.bsends.flush(background) })
	t.launch()
	o := &origin{comm: c}
	o.task.Store(t)
	return Request{r: r, from: o}, nil
}

// sendBuffered copies the message into the communicator's buffer, or into that of World if the
// communicator has none, and posts its send.
func (c *Comm) sendBuffered(b core.Buffer, dst, tag int) error {
	buffer := &c.bsends
	if !buffer.isAttached() {
		buffer = &c.p.world.bsends
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
