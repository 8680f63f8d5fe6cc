package datatype

import "github.com/viaduct-hpc/viaduct/mpi/errclass"

// Pack copies count elements at mem[origin] to dst in packed form, and returns the number of bytes
// (MPI_Pack, MPI-4.1, 5.2). Displacements may be negative if every byte lies in mem. Errors have
// class Type, Count, Buffer (not in mem), Truncate (dst is too short) or ValueTooLarge; then
// nothing was copied.
func (t *Type) Pack(dst, mem []byte, origin, count int) (n int, err error) {
	total, err := t.total(len(mem), origin, count)
	if err != nil {
		return 0, err
	}
	if total > len(dst) {
		return 0, errShort(total, len(dst))
	}
	switch {
	case total == 0:
		return 0, nil
	case t.contiguous:
		return copy(dst[:total], mem[origin:]), nil
	}
	m := mover{mem: mem, buf: dst[:total], op: opPack}
	m.elements(t.shape.native, t.extent, origin, count)
	return total, nil
}

// Unpack copies packed bytes from src to up to count elements at mem[origin], and returns the
// number of bytes (MPI_Unpack, MPI-4.1, 5.2). If src has fewer bytes than the elements, the last
// element is filled only in part. Errors are those of Pack except Truncate, and those of Distinct.
func (t *Type) Unpack(mem []byte, origin, count int, src []byte) (n int, err error) {
	total, err := t.room(len(mem), origin, count)
	if err != nil {
		return 0, err
	}
	n = min(total, len(src))
	switch {
	case n == 0:
		return 0, nil
	case t.contiguous:
		return copy(mem[origin:], src[:n]), nil
	}
	m := mover{mem: mem, buf: src[:n], op: opUnpack}
	m.elements(t.shape.native, t.extent, origin, count)
	return n, nil
}

// room is total for memory that is written to.
func (t *Type) room(memLen, origin, count int) (int, error) {
	total, err := t.total(memLen, origin, count)
	if err == nil && !t.contiguous {
		err = t.Distinct(count)
	}
	return total, err
}

func errShort(need, have int) error {
	return errclass.New(errclass.Truncate, "packed, the elements are %d bytes, and the buffer for them has %d: make it larger", need, have)
}
