package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Collective operations work on packed bytes. A buffer whose elements lie one behind the other
// is that already, and is worked on where it is; others are packed before and unpacked after.

// inPlace tells whether a buffer is the zero one, which stands for MPI_IN_PLACE.
func inPlace(b Buffer) bool { return b.Type == nil && b.Mem == nil }

// elementType is the datatype of a buffer's elements.
func elementType(b *Buffer) *datatype.Type {
	if b.Type == nil {
		return datatype.Byte
	}
	return b.Type
}

// elements is how many there are in a buffer.
func elements(b *Buffer) int {
	if b.Type == nil {
		return len(b.Mem)
	}
	return b.Count
}

// packedBytes is how many bytes a buffer has when packed.
func packedBytes(b *Buffer) int {
	if b.Type == nil {
		return len(b.Mem)
	}
	return b.Count * b.Type.Size()
}

// checkBuffer makes sure that all elements lie in their memory, and that their number of bytes
// is one.
func checkBuffer(b Buffer) error {
	if b.Type == nil {
		return nil
	}
	if b.Count < 0 {
		return errclass.New(errclass.Count, "%d elements: give 0 or more", b.Count)
	}
	if err := b.Type.Fits(len(b.Mem), b.Origin, b.Count); err != nil {
		return err
	}
	_, err := b.Type.PackSize(b.Count)
	return err
}

// direct is the memory of a checked buffer if that is its packed form already.
func direct(b *Buffer) ([]byte, bool) {
	switch {
	case b.Type == nil:
		return b.Mem, true
	case packedBytes(b) == 0: // the origin may be anywhere
		return b.Mem[:0], true
	case !b.Type.Contiguous():
		return nil, false
	}
	return b.Mem[b.Origin : b.Origin+packedBytes(b)], true
}

// packed is a checked buffer's elements one behind the other; it is not nil.
func packed(b *Buffer) []byte {
	mem, ok := direct(b)
	switch {
	case !ok:
		mem = make([]byte, packedBytes(b))
		_, _ = b.Type.Pack(mem, b.Mem, b.Origin, b.Count) // checked
	case mem == nil:
		mem = []byte{}
	}
	return mem
}

// room is where a checked buffer's elements are to be put one behind the other, and where they
// are already if keep is set. It is their own memory if that is possible.
func room(b *Buffer, keep bool) []byte {
	if keep {
		return packed(b)
	}
	if mem, ok := direct(b); ok {
		return mem
	}
	return make([]byte, packedBytes(b))
}

// unpack puts what room gave where it belongs.
func unpack(b *Buffer, mem []byte) {
	if _, ok := direct(b); !ok {
		_, _ = b.Type.Unpack(b.Mem, b.Origin, b.Count, mem) // checked
	}
}
