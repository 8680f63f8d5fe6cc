package datatype

import (
	"encoding/binary"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/number"
)

// An externalForm says how external32 stores an element of a kind (MPI-4.1, 14.5.2).
type externalForm struct {
	bytes          int                   // 0: as many as in memory
	encode, decode func(dst, src []byte) // of one element; nil: only the order of bytes differs
}

// externals are the forms in external32. Integers that do not fit keep their lowest bytes, and
// signed ones their sign, as the standard advises.
var externals = [kindEnd]externalForm{
	KindLong: {4,
		func(dst, src []byte) {
			x := binary.NativeEndian.Uint64(src)
			binary.BigEndian.PutUint32(dst, uint32(x>>63)<<31|uint32(x)&^(1<<31))
		},
		func(dst, src []byte) {
			binary.NativeEndian.PutUint64(dst, uint64(int32(binary.BigEndian.Uint32(src))))
		}},
	KindUlong: {4,
		func(dst, src []byte) { binary.BigEndian.PutUint32(dst, uint32(binary.NativeEndian.Uint64(src))) },
		func(dst, src []byte) { binary.NativeEndian.PutUint64(dst, uint64(binary.BigEndian.Uint32(src))) }},
	KindWchar: {2,
		func(dst, src []byte) { binary.BigEndian.PutUint16(dst, uint16(binary.NativeEndian.Uint32(src))) },
		func(dst, src []byte) { binary.NativeEndian.PutUint32(dst, uint32(binary.BigEndian.Uint16(src))) }},
	KindLongDouble:        longDoubles(1),
	KindLongDoubleComplex: longDoubles(2),
}

// longDoubles is the form of an element of n long doubles, which external32 stores as binary128.
func longDoubles(n int) externalForm {
	if number.LongDoubleIsFloat128 {
		return externalForm{}
	}
	const size = 16
	return externalForm{n * size,
		func(dst, src []byte) {
			for i := 0; i < n*size; i += size {
				x := number.LongDoubleFromBits(binary.NativeEndian.Uint64(src[i+8:]), binary.NativeEndian.Uint64(src[i:]))
				hi, lo := x.Float128().Bits()
				binary.BigEndian.PutUint64(dst[i:], hi)
				binary.BigEndian.PutUint64(dst[i+8:], lo)
			}
		},
		func(dst, src []byte) {
			for i := 0; i < n*size; i += size {
				x := number.Float128FromBits(binary.BigEndian.Uint64(src[i:]), binary.BigEndian.Uint64(src[i+8:]))
				hi, lo := number.LongDoubleFromFloat128(x).Bits()
				binary.NativeEndian.PutUint64(dst[i:], lo)
				binary.NativeEndian.PutUint64(dst[i+8:], hi)
			}
		}}
}

func (e *externalForm) size(k Kind) int {
	if e.bytes > 0 {
		return e.bytes
	}
	return kinds[k].size
}

// External32 is the representation that is the same on all machines: big-endian, without padding
// (MPI-4.1, 14.5.2). Most elements have the size that they have in memory; a Long and an Ulong have 4
// bytes, and a Wchar has 2.
var External32 = &Representation{
	Size: func(k Kind) (int, error) { return externals[k].size(k), nil },
	Encode: func(dst, src []byte, k Kind, n int) error {
		convertAll(dst, src, k, externals[k].size(k), kinds[k].size, externals[k].encode)
		return nil
	},
	Decode: func(dst, src []byte, k Kind, n int) error {
		convertAll(dst, src, k, kinds[k].size, externals[k].size(k), externals[k].decode)
		return nil
	},
}

// convertAll converts elements of from bytes to elements of to bytes.
func convertAll(dst, src []byte, k Kind, to, from int, one func(dst, src []byte)) {
	if one == nil {
		swap(dst, src, int(kinds[k].units.unit))
		return
	}
	for len(src) > 0 {
		one(dst, src)
		dst, src = dst[to:], src[from:]
	}
}

// PackExternalSize returns the size of count elements in External32, in bytes
// (MPI_Pack_external_size, MPI-4.1, 5.3).
func (t *Type) PackExternalSize(count int) (int, error) {
	if _, err := t.PackSize(count); err != nil {
		return 0, err
	}
	return count * t.shape.external, nil // not more than PackSize
}

// PackExternal is Pack in the representation External32 (MPI_Pack_external, MPI-4.1, 5.3 and 14.5.2).
func (t *Type) PackExternal(dst, mem []byte, origin, count int) (n int, err error) {
	if _, err := t.total(len(mem), origin, count); err != nil {
		return 0, err
	}
	total := count * t.shape.external
	if total > len(dst) {
		return 0, errShort(total, len(dst))
	}
	if t.shape.converts {
		c := Converter{t: t, mem: mem, origin: origin, count: count, rep: External32}
		if err := c.prepare(); err != nil {
			return 0, err
		}
		return total, c.Pack(dst[:total], 0)
	}
	m := mover{mem: mem, buf: dst[:total], op: opPackExternal}
	m.elements(t.shape.wire, t.extent, origin, count)
	return total, nil
}

// UnpackExternal is Unpack from the representation External32 (MPI_Unpack_external, MPI-4.1, 5.3).
// A number that is incomplete at the end of src is not unpacked.
func (t *Type) UnpackExternal(mem []byte, origin, count int, src []byte) (n int, err error) {
	if _, err := t.room(len(mem), origin, count); err != nil {
		return 0, err
	}
	src = src[:min(count*t.shape.external, len(src))]
	if t.shape.converts {
		c := Converter{t: t, mem: mem, origin: origin, count: count, rep: External32}
		if err := c.prepare(); err != nil {
			return 0, err
		}
		return len(src) - c.incomplete(len(src)), c.Unpack(0, src)
	}
	m := mover{mem: mem, buf: src, op: opUnpackExternal}
	m.elements(t.shape.wire, t.extent, origin, count)
	return len(m.buf) - m.dropped, nil
}

// errConversion is an error of a representation's functions.
func errConversion(err error, k Kind) error {
	return errclass.Wrap(errclass.Conversion, err, "elements of the kind %v cannot be converted", k)
}
