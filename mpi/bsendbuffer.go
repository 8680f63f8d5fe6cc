package mpi

import (
	"context"
	"sync"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// BsendOverhead is the space in bytes that a message takes in an attached buffer in addition to its
// data (MPI_BSEND_OVERHEAD; MPI-4.1, 3.6).
const BsendOverhead = 64

// A bsendBuffer holds the messages of buffered sends until they are sent (MPI-4.1, 3.6.1). It is a
// ring: space becomes free in the order in which it was taken.
type bsendBuffer struct {
	mu       sync.Mutex
	attached bool
	auto     bool // memory is allocated as needed, and mem is nil
	mem      []byte
	waiting  []bsend // in the order of their sends
	err      error   // of the first message that could not be sent; detach or flush returns it
}

// A bsend is a message in the buffer; it occupies [off, end).
type bsend struct {
	off, end int
	r        core.Request
}

// attach sets the buffer's memory; with auto the library allocates it as needed.
func (b *bsendBuffer) attach(mem []byte, auto bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.attached {
		return errclass.New(errclass.Buffer, "a buffer of %d bytes is attached already: detach it first", len(b.mem))
	}
	b.attached, b.auto, b.mem, b.err = true, auto, mem, nil
	return nil
}

// isAttached tells whether buffered sends may use the buffer.
func (b *bsendBuffer) isAttached() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.attached
}

// detach waits until all messages are sent, and returns the memory.
func (b *bsendBuffer) detach(ctx context.Context) ([]byte, error) {
	if !b.isAttached() {
		return nil, errNotAttached
	}
	if err := b.drain(ctx); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !b.attached:
		return nil, errNotAttached // another goroutine detached it
	case len(b.waiting) > 0:
		return nil, errclass.New(errclass.Buffer, "%d messages were put into the buffer while it was being detached: send none until DetachBuffer returns, and detach it again", len(b.waiting))
	}
	mem, err := b.mem, b.err
	b.attached, b.auto, b.mem, b.err = false, false, nil, nil
	return mem, err
}

// flush waits until all messages are sent.
func (b *bsendBuffer) flush(ctx context.Context) error {
	if !b.isAttached() {
		return errNotAttached
	}
	if err := b.drain(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.err
	b.err = nil
	return err
}

var errNotAttached = errclass.New(errclass.Buffer, "no buffer is attached: attach one first")

// drain waits until the buffer holds no message. Its error is ctx's, or the reason why waiting is
// no longer possible.
func (b *bsendBuffer) drain(ctx context.Context) error {
	for {
		b.mu.Lock()
		b.reapLocked()
		if len(b.waiting) == 0 {
			b.mu.Unlock()
			return nil
		}
		head := b.waiting[0].r
		b.mu.Unlock()
		_, err := head.Wait(ctx) // without the lock, so that others can send
		if ctx.Err() != nil {
			return errclass.Wrap(errclass.Buffer, context.Cause(ctx), "messages in the buffer have not been sent")
		}
		if _, done, _ := head.Peek(); !done {
			return err
		}
		b.note(err)
	}
}

// note keeps the first error for detach or flush.
func (b *bsendBuffer) note(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
}

// reapLocked frees the space of messages that are sent, up to the first that is not.
func (b *bsendBuffer) reapLocked() {
	n := 0
	for ; n < len(b.waiting); n++ {
		_, done, err := b.waiting[n].r.Test()
		if !done {
			break
		}
		if b.err == nil {
			b.err = err
		}
	}
	b.waiting = b.waiting[:copy(b.waiting, b.waiting[n:])]
}

// send copies a message into the buffer and posts its send.
func (b *bsendBuffer) send(s *core.Scope, msg core.Buffer, dst, tag int) error {
	size, err := packSize(msg)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.attached {
		return errNoBuffer
	}
	b.reapLocked()
	off, mem, err := b.placeLocked(size)
	if err != nil {
		return err
	}
	if err := pack(mem[:size], msg); err != nil {
		return err
	}
	r, err := s.Isend(core.Standard, core.Buffer{Mem: mem[:size]}, dst, tag)
	if err != nil {
		return err
	}
	b.waiting = append(b.waiting, bsend{off: off, end: off + size + BsendOverhead, r: r})
	return nil
}

var errNoBuffer = errclass.New(errclass.Buffer, "a buffered send needs a buffer: attach one to the communicator or to World, with AttachBuffer")

// placeLocked finds space for a message of size bytes.
func (b *bsendBuffer) placeLocked(size int) (off int, mem []byte, err error) {
	if b.auto {
		return 0, make([]byte, size), nil
	}
	off, ok := b.gapLocked(size + BsendOverhead)
	if !ok {
		return 0, nil, errclass.New(errclass.Buffer,
			"a message of %d bytes, and %d more for each, has no room in the attached buffer of %d bytes, in which %d messages wait to be received: attach a larger one",
			size, BsendOverhead, len(b.mem), len(b.waiting))
	}
	return off, b.mem[off:], nil
}

// gapLocked returns the offset of n free contiguous bytes behind the latest message.
func (b *bsendBuffer) gapLocked(n int) (off int, ok bool) {
	if len(b.waiting) == 0 {
		return 0, n <= len(b.mem)
	}
	first, last := b.waiting[0].off, b.waiting[len(b.waiting)-1].end
	switch {
	case last <= first: // the ring has wrapped around
		return last, n <= first-last
	case n <= len(b.mem)-last:
		return last, true
	default:
		return 0, n <= first
	}
}

// packSize returns the number of bytes of a message's data, or an error if msg is invalid.
func packSize(msg core.Buffer) (int, error) {
	if msg.Type == nil {
		return len(msg.Mem), nil
	}
	if err := checkCount(msg.Count); err != nil {
		return 0, err
	}
	if err := msg.Type.Fits(len(msg.Mem), msg.Origin, msg.Count); err != nil {
		return 0, err
	}
	return msg.Type.PackSize(msg.Count)
}

// pack copies a message's data.
func pack(dst []byte, msg core.Buffer) error {
	if msg.Type == nil {
		copy(dst, msg.Mem)
		return nil
	}
	_, err := msg.Type.Pack(dst, msg.Mem, msg.Origin, msg.Count)
	return err
}
