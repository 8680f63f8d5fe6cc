package mpi

import "github.com/viaduct-hpc/viaduct/mpi/core"

// The MPI names of sends, by mode.
var (
	sendNames  = [...]string{core.Standard: "MPI_Send", core.Synchronous: "MPI_Ssend", core.Ready: "MPI_Rsend", core.Buffered: "MPI_Bsend"}
	isendNames = [...]string{core.Standard: "MPI_Isend", core.Synchronous: "MPI_Issend", core.Ready: "MPI_Irsend", core.Buffered: "MPI_Ibsend"}
)

// Send sends the elements of xs to rank dst of c, and returns when xs may be changed again
// (MPI_Send; MPI-4.1, 3.2.1). That may be before or only after they are received. The tag is 0 to
// TagUB. Errors have class ErrComm, ErrRank, ErrTag, ErrType (no datatype for T), and
// ErrProcFailed.
func Send[T any](c *Comm, xs []T, dst, tag int) error {
	if isScalar[T]() && !c.hooked() {
		return c.sendBytes(bytesOf(xs), dst, tag)
	}
	b, err := bufferOf(xs)
	if err != nil {
		return c.refuse("MPI_Send", err)
	}
	return c.send(core.Standard, b, dst, tag)
}

// Ssend is a synchronous Send: it does not return before the receive has begun (MPI_Ssend; MPI-4.1,
// 3.4).
func Ssend[T any](c *Comm, xs []T, dst, tag int) error {
	b, err := bufferOf(xs)
	if err != nil {
		return c.refuse("MPI_Ssend", err)
	}
	return c.send(core.Synchronous, b, dst, tag)
}

// Rsend is a Send whose receive is already posted, as the caller knows (MPI_Rsend; MPI-4.1, 3.4).
// If it is not, Rsend acts like Send.
func Rsend[T any](c *Comm, xs []T, dst, tag int) error {
	b, err := bufferOf(xs)
	if err != nil {
		return c.refuse("MPI_Rsend", err)
	}
	return c.send(core.Ready, b, dst, tag)
}

// Bsend is a buffered send: it copies xs into the attached buffer and returns (MPI_Bsend; MPI-4.1,
// 3.4). If no buffer is attached, or it has too little space, the error has class ErrBuffer.
func Bsend[T any](c *Comm, xs []T, dst, tag int) error {
	b, err := bufferOf(xs)
	if err != nil {
		return c.refuse("MPI_Bsend", err)
	}
	return c.send(core.Buffered, b, dst, tag)
}

// Isend begins a Send (MPI_Isend; MPI-4.1, 3.7.2). xs must not be changed until the request ends.
func Isend[T any](c *Comm, xs []T, dst, tag int) (Request, error) {
	if isScalar[T]() && !c.hooked() {
		return c.isendBytes(bytesOf(xs), dst, tag)
	}
	b, err := bufferOf(xs)
	if err != nil {
		return Request{}, c.refuse("MPI_Isend", err)
	}
	return c.isend(core.Standard, b, dst, tag)
}

// Issend begins an Ssend (MPI_Issend; MPI-4.1, 3.7.2).
func Issend[T any](c *Comm, xs []T, dst, tag int) (Request, error) {
	b, err := bufferOf(xs)
	if err != nil {
		return Request{}, c.refuse("MPI_Issend", err)
	}
	return c.isend(core.Synchronous, b, dst, tag)
}

// Irsend begins an Rsend (MPI_Irsend; MPI-4.1, 3.7.2).
func Irsend[T any](c *Comm, xs []T, dst, tag int) (Request, error) {
	b, err := bufferOf(xs)
	if err != nil {
		return Request{}, c.refuse("MPI_Irsend", err)
	}
	return c.isend(core.Ready, b, dst, tag)
}

// Ibsend begins a Bsend. Its request is complete when Ibsend returns (MPI_Ibsend; MPI-4.1, 3.7.2).
func Ibsend[T any](c *Comm, xs []T, dst, tag int) (Request, error) {
	b, err := bufferOf(xs)
	if err != nil {
		return Request{}, c.refuse("MPI_Ibsend", err)
	}
	return c.isend(core.Buffered, b, dst, tag)
}

// SendBuffer is Send of a Buffer.
func (c *Comm) SendBuffer(b Buffer, dst, tag int) error { return c.send(core.Standard, b, dst, tag) }

// SsendBuffer is Ssend of a Buffer.
func (c *Comm) SsendBuffer(b Buffer, dst, tag int) error {
	return c.send(core.Synchronous, b, dst, tag)
}

// RsendBuffer is Rsend of a Buffer.
func (c *Comm) RsendBuffer(b Buffer, dst, tag int) error { return c.send(core.Ready, b, dst, tag) }

// BsendBuffer is Bsend of a Buffer.
func (c *Comm) BsendBuffer(b Buffer, dst, tag int) error { return c.send(core.Buffered, b, dst, tag) }

// IsendBuffer is Isend of a Buffer.
func (c *Comm) IsendBuffer(b Buffer, dst, tag int) (Request, error) {
	return c.isend(core.Standard, b, dst, tag)
}

// IssendBuffer is Issend of a Buffer.
func (c *Comm) IssendBuffer(b Buffer, dst, tag int) (Request, error) {
	return c.isend(core.Synchronous, b, dst, tag)
}

// IrsendBuffer is Irsend of a Buffer.
func (c *Comm) IrsendBuffer(b Buffer, dst, tag int) (Request, error) {
	return c.isend(core.Ready, b, dst, tag)
}

// IbsendBuffer is Ibsend of a Buffer.
func (c *Comm) IbsendBuffer(b Buffer, dst, tag int) (Request, error) {
	return c.isend(core.Buffered, b, dst, tag)
}

// send implements the blocking sends.
func (c *Comm) send(mode core.Mode, b core.Buffer, dst, tag int) error {
	var call *Call
	if c.hooked() {
		call = c.enter(Call{Name: sendNames[mode], Comm: c, Peer: dst, Tag: tag, Bytes: dataBytes(b)})
	}
	err := c.sendUnseen(mode, b, dst, tag)
	if err != nil || call != nil {
		return c.leave(call, err)
	}
	return nil
}

// sendUnseen is send without hook and error handler.
func (c *Comm) sendUnseen(mode core.Mode, b core.Buffer, dst, tag int) error {
	if err := c.checkSend(dst, tag); err != nil {
		return err
	}
	if mode == core.Buffered {
		return c.sendBuffered(b, dst, tag)
	}
	return c.p2p.Send(mode, b, dst, tag)
}

// isend implements the sends that return a request.
func (c *Comm) isend(mode core.Mode, b core.Buffer, dst, tag int) (Request, error) {
	var call *Call
	if c.hooked() {
		call = c.enter(Call{Name: isendNames[mode], Comm: c, Peer: dst, Tag: tag, Bytes: dataBytes(b)})
	}
	r, err := c.isendUnseen(mode, b, dst, tag)
	return r, c.leave(call, err)
}

func (c *Comm) isendUnseen(mode core.Mode, b core.Buffer, dst, tag int) (Request, error) {
	if err := c.checkSend(dst, tag); err != nil {
		return Request{}, err
	}
	var r core.Request
	var err error
	if mode == core.Buffered {
		r, err = c.startBuffered(b, dst, tag)
	} else {
		r, err = c.p2p.Isend(mode, b, dst, tag)
	}
	if err != nil {
		return Request{}, err
	}
	return c.request(r), nil
}

// refuse ends a call whose slice makes no Buffer.
func (c *Comm) refuse(name string, err error) error {
	defer c.call(name, &err)()
	if live := c.checkLive(); live != nil {
		err = live
	}
	return err
}
