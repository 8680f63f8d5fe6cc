package mpi

import (
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Collective operations work on packed bytes. A buffer whose elements are contiguous is packed
// already and is used where it is. Other buffers are packed before the operation and unpacked after
// it.

// inPlace tells whether a buffer is the zero one, which stands for MPI_IN_PLACE.
func inPlace(b Buffer) bool { return b.Type == nil && b.Mem == nil }

// elementType returns the datatype of a buffer's elements.
func elementType(b *Buffer) *datatype.Type {
	if b.Type == nil {
		return datatype.Byte
	}
	return b.Type
}

// elements returns the number of elements in a buffer.
func elements(b *Buffer) int {
	if b.Type == nil {
		return len(b.Mem)
	}
	return b.Count
}

// packedBytes returns the size of a buffer's packed form, in bytes.
func packedBytes(b *Buffer) int {
	if b.Type == nil {
		return len(b.Mem)
	}
	return b.Count * b.Type.Size()
}

// checkBuffer returns an error unless all elements lie in the buffer's memory and their size in
// bytes fits an int.
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

// direct returns the memory of a checked buffer if it is already packed.
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

// packed returns a checked buffer's elements in packed form. The result is not nil.
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

// room returns memory for the packed elements of a checked buffer, which is the buffer's own memory
// if possible. If keep is set, the memory already holds the elements.
func room(b *Buffer, keep bool) []byte {
	if keep {
		return packed(b)
	}
	if mem, ok := direct(b); ok {
		return mem
	}
	return make([]byte, packedBytes(b))
}

// unpack copies the packed elements from mem, which room returned, into the buffer.
func unpack(b *Buffer, mem []byte) {
	if _, ok := direct(b); !ok {
		_, _ = b.Type.Unpack(b.Mem, b.Origin, b.Count, mem) // checked
	}
}
