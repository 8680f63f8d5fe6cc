package core

import (
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Buffer is the memory of a message: Count elements of Type, the first at Mem[Origin]. If Type is
// nil, the message is the bytes of Mem, and Origin and Count are ignored. Every byte of the
// elements lies in Mem.
type Buffer struct {
	Mem    []byte
	Origin int
	Type   *datatype.Type
	Count  int
}

// check returns an error if a caller's buffer is invalid.
func (b *Buffer) check() error {
	if b.Type == nil {
		return nil
	}
	if b.Count < 0 {
		return errclass.New(errclass.Count, "%d elements, give 0 or more", b.Count)
	}
	if err := b.Type.Fits(len(b.Mem), b.Origin, b.Count); err != nil {
		return err
	}
	if b.size() > sizeMax { // possible if elements overlap
		return errclass.New(errclass.Count, "%d bytes, a message has at most %d", b.size(), sizeMax)
	}
	return nil
}

// checkRoom is check for a receive buffer, in which elements must not overlap.
func (b *Buffer) checkRoom() error {
	if err := b.check(); err != nil || b.Type == nil {
		return err
	}
	return b.Type.Distinct(b.Count)
}

// size returns the number of data bytes.
func (b *Buffer) size() int {
	if b.Type == nil {
		return len(b.Mem)
	}
	return b.Count * b.Type.Size()
}

// piece returns the buffer's data as one slice if it is contiguous.
func (b *Buffer) piece() ([]byte, bool) {
	if b.Type == nil {
		return b.Mem, true
	}
	if b.Count == 0 {
		return nil, true
	}
	off, n, ok := b.Type.Piece(b.Count)
	if !ok {
		return nil, false
	}
	return b.Mem[b.Origin+off:][:n], true
}

// read copies data from offset off of the buffer to dst, as much as both have.
func (b *Buffer) read(dst []byte, off int) int {
	if b.Type == nil {
		return copy(dst, b.Mem[off:])
	}
	return b.readTyped(dst, off)
}

func (b *Buffer) readTyped(dst []byte, off int) int {
	if mem, ok := b.piece(); ok {
		return copy(dst, mem[off:])
	}
	c := b.cursor(off)
	return c.Pack(dst)
}

// write copies src to offset off of the buffer's data, as much as fits.
func (b *Buffer) write(off int, src []byte) int {
	if b.Type == nil {
		return copy(b.Mem[off:], src)
	}
	return b.writeTyped(off, src)
}

func (b *Buffer) writeTyped(off int, src []byte) int {
	if mem, ok := b.piece(); ok {
		return copy(mem[off:], src)
	}
	c := b.cursor(off)
	return c.Unpack(src)
}

// cursor returns a cursor at offset off of the data of a checked buffer.
func (b *Buffer) cursor(off int) datatype.Cursor {
	c, err := datatype.NewCursor(b.Type, b.Mem, b.Origin, b.Count)
	if err != nil {
		panic("internal/mpi/core: an unchecked buffer: " + err.Error())
	}
	c.Skip(off)
	return c
}

// copyBuffers copies n bytes of data between two buffers of this process. If neither is contiguous,
// it copies twice, through a piece of at most each bytes.
func copyBuffers(dst, src *Buffer, n, each int) {
	if mem, ok := src.piece(); ok {
		dst.write(0, mem[:n])
		return
	}
	if mem, ok := dst.piece(); ok {
		src.read(mem[:n], 0)
		return
	}
	staging := make([]byte, min(n, each))
	for off := 0; off < n; {
		part := staging[:min(n-off, len(staging))]
		src.read(part, off)
		off += dst.write(off, part)
	}
}
