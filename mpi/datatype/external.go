package datatype

// PackExternalSize returns the size of count elements in external32, in bytes
// (MPI_Pack_external_size, MPI-4.1, 5.3). It equals PackSize, because Go's scalars have the same
// sizes as their counterparts in external32.
func (t *Type) PackExternalSize(count int) (int, error) { return t.PackSize(count) }

// PackExternal is Pack in the representation external32, which is the same on all machines:
// big-endian, without padding (MPI_Pack_external, MPI-4.1, 5.3 and 14.5.2).
func (t *Type) PackExternal(dst, mem []byte, origin, count int) (n int, err error) {
	total, err := t.total(len(mem), origin, count)
	if err != nil {
		return 0, err
	}
	if total > len(dst) {
		return 0, errShort(total, len(dst))
	}
	m := mover{mem: mem, buf: dst[:total], op: opPackExternal}
	m.elements(t.shape.wire, t.extent, origin, count)
	return total, nil
}

// UnpackExternal is Unpack from the representation external32 (MPI_Unpack_external, MPI-4.1, 5.3).
// A number that is incomplete at the end of src is not unpacked.
func (t *Type) UnpackExternal(mem []byte, origin, count int, src []byte) (n int, err error) {
	total, err := t.room(len(mem), origin, count)
	if err != nil {
		return 0, err
	}
	m := mover{mem: mem, buf: src[:min(total, len(src))], op: opUnpackExternal}
	m.elements(t.shape.wire, t.extent, origin, count)
	return len(m.buf) - m.dropped, nil
}
