package core

import (
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Buffer is the memory of a message: Count elements of Type, of which the first lies at
// Mem[Origin]. Type nil means bytes: all of Mem, and Origin and Count are not looked at.
// Every byte that the elements touch lies in Mem.
type Buffer struct {
	Mem    []byte
	Origin int
	Type   *datatype.Type
	Count  int
}

// check is what is wrong with a buffer that a caller gave.
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
	if b.size() > sizeMax { // of the same bytes again and again
		return errclass.New(errclass.Count, "%d bytes, a message has at most %d", b.size(), sizeMax)
	}
	return nil
}

// checkRoom is check for a buffer that is received into, in which no byte may be touched
// twice.
func (b *Buffer) checkRoom() error {
	if err := b.check(); err != nil || b.Type == nil {
		return err
	}
	return b.Type.Distinct(b.Count)
}

// size is the number of bytes of data.
func (b *Buffer) size() int {
	if b.Type == nil {
		return len(b.Mem)
	}
	return b.Count * b.Type.Size()
}

// piece is the buffer's data as one piece of memory, if it is one.
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

// read copies data from offset off of the buffer to dst, as much as there is.
func (b *Buffer) read(dst []byte, off int) int {
	if mem, ok := b.piece(); ok {
		return copy(dst, mem[off:])
	}
	c := b.cursor(off)
	return c.Pack(dst)
}

// write copies src to offset off of the buffer's data, as much as there is room for.
func (b *Buffer) write(off int, src []byte) int {
	if mem, ok := b.piece(); ok {
		return copy(mem[off:], src)
	}
	c := b.cursor(off)
	return c.Unpack(src)
}

// cursor is at offset off of the data of a buffer that check has seen.
func (b *Buffer) cursor(off int) datatype.Cursor {
	c, err := datatype.NewCursor(b.Type, b.Mem, b.Origin, b.Count)
	if err != nil {
		panic("mpi/core: a buffer that nobody checked: " + err.Error())
	}
	c.Skip(off)
	return c
}

// copyBuffers copies n bytes of data between two buffers of this process. If neither is one
// piece of memory it takes two copies, in pieces of some size.
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
