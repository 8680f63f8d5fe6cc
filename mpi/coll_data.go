package mpi

// Collective operations work on packed bytes. A buffer whose elements are contiguous is packed
// already and is used where it is. Other buffers are packed before the operation and unpacked after
// it.

// direct returns the memory of a buffer if it is already packed.
func (b *Buffer) direct() ([]byte, bool) {
	switch n := b.size(); {
	case b.isPlain():
		return b.mem(), true
	case n == 0: // the origin may be anywhere
		return b.mem()[:0], true
	case !b.t.Contiguous():
		return nil, false
	default:
		return b.mem()[b.origin():][:n], true
	}
}

// packed returns a buffer's elements in packed form. The result is not nil.
func (b *Buffer) packed() []byte {
	mem, ok := b.direct()
	switch {
	case !ok:
		mem = make([]byte, b.size())
		_, _ = b.t.Pack(mem, b.mem(), b.origin(), b.count()) // checked
	case mem == nil:
		mem = []byte{}
	}
	return mem
}

// contribution returns the packed form of a process's own elements, or nil, which means
// MPI_IN_PLACE to package coll.
func (b *Buffer) contribution() []byte {
	if b.isInPlace() {
		return nil
	}
	return b.packed()
}

// room returns memory for the packed elements of a buffer, which is the buffer's own memory if
// possible. If keep is set, the memory already holds the elements.
func (b *Buffer) room(keep bool) []byte {
	if keep {
		return b.packed()
	}
	if mem, ok := b.direct(); ok {
		return mem
	}
	return make([]byte, b.size())
}

// unpack copies the packed elements from mem, which room returned, into the buffer.
func (b *Buffer) unpack(mem []byte) {
	if _, ok := b.direct(); !ok {
		_, _ = b.t.Unpack(b.mem(), b.origin(), b.count(), mem) // checked
	}
}

// packedAll is packed for several buffers.
func packedAll(bs []Buffer) [][]byte {
	list := make([][]byte, len(bs))
	for i := range bs {
		list[i] = bs[i].packed()
	}
	return list
}

// roomAll is room for several buffers.
func roomAll(bs []Buffer, keep bool) [][]byte {
	list := make([][]byte, len(bs))
	for i := range bs {
		list[i] = bs[i].room(keep)
	}
	return list
}

// unpackAll is unpack for several buffers.
func unpackAll(bs []Buffer, list [][]byte) {
	for i := range bs {
		bs[i].unpack(list[i])
	}
}
