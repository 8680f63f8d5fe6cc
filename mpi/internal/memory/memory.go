// Package memory is what operations on files and checkpoints use of mpi.Buffer: the packed bytes of a
// user's memory, in the representation of the file.
package memory

import (
	"math"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
)

// A Memory is the bytes of a Buffer in the representation of the file, numbered from 0 in the order
// of its datatype.
type Memory struct {
	mem           []byte
	origin, count int
	t             *datatype.Type      // nil: there are no bytes
	conv          *datatype.Converter // nil: the file has the bytes as they are
	size          int64
	piece         []byte // all bytes, if they lie together and need no conversion
	limit         int64
	err           error
}

// Of checks a Buffer and returns its Memory. rep is the representation of the file, nil for native.
// into says that the memory is read into.
func Of(b mpi.Buffer, rep *datatype.Representation, into bool) (*Memory, error) {
	mem, origin, count, t, err := b.Memory()
	if err != nil {
		return nil, err
	}
	if t == nil {
		return &Memory{}, nil
	}
	size, err := t.PackSize(count)
	if err != nil {
		return nil, err
	}
	if into {
		if err := t.Distinct(count); err != nil {
			return nil, err
		}
	}
	m := &Memory{mem: mem, origin: origin, count: count, t: t, size: int64(size), limit: math.MaxInt64}
	if rep != nil && (rep != datatype.External32 || !bytes1(t)) {
		if m.conv, err = datatype.NewConverter(rep, t, mem, origin, count); err != nil {
			return nil, err
		}
		m.size = int64(m.conv.Size())
		return m, nil
	}
	if off, n, ok := t.Piece(count); ok {
		m.piece = mem[origin+off:][:n]
	}
	return m, nil
}

// bytes1 tells whether the elements of a type are single bytes, which external32 does not change.
func bytes1(t *datatype.Type) bool {
	k := t.Kind()
	return k != datatype.KindNone && k.Size() == 1
}

// Size returns the number of bytes.
func (m *Memory) Size() int64 { return m.size }

// Piece returns bytes from to end-1, if they lie together and need no conversion.
func (m *Memory) Piece(from, end int64) ([]byte, bool) {
	if m.piece == nil {
		return nil, m.size == 0
	}
	return m.piece[from:end:end], true
}

// Pack copies the bytes from offset from on to dst. If they cannot be converted, dst has undefined
// bytes, and Err returns the error.
func (m *Memory) Pack(dst []byte, from int64) {
	switch {
	case m.piece != nil:
		copy(dst, m.piece[from:])
	case m.conv != nil:
		m.note(m.conv.Pack(dst, int(from)))
	default:
		c := m.cursor(from)
		c.Pack(dst)
	}
}

// Unpack copies src to the bytes from offset from on. Bytes that cannot be converted stay as they
// are, and Err returns the error.
func (m *Memory) Unpack(from int64, src []byte) {
	switch {
	case m.piece != nil:
		copy(m.piece[from:], src)
	case m.conv != nil:
		src = src[:max(0, min(int64(len(src)), m.limit-from))]
		m.note(m.conv.Unpack(int(from), src))
	default:
		c := m.cursor(from)
		c.Unpack(src)
	}
}

func (m *Memory) note(err error) {
	if m.err == nil {
		m.err = err
	}
}

// Err returns the first error of a conversion.
func (m *Memory) Err() error { return m.err }

// Converts tells whether the bytes are converted.
func (m *Memory) Converts() bool { return m.conv != nil }

// Limit makes Unpack ignore the bytes from an offset on, because they lie beyond the end of the file
// and are no elements.
func (m *Memory) Limit(offset int64) { m.limit = offset }

// Packed returns how many bytes of a message the first n bytes are: those of whole elements, if they
// are converted.
func (m *Memory) Packed(n int64) int64 {
	if m.conv == nil {
		return n
	}
	return int64(m.conv.Packed(int(n)))
}

func (m *Memory) cursor(from int64) datatype.Cursor {
	c, err := datatype.NewCursor(m.t, m.mem, m.origin, m.count)
	if err != nil {
		panic("mpi: an unchecked buffer: " + err.Error())
	}
	c.Skip(int(from))
	return c
}
