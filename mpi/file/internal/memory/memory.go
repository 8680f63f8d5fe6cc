// Package memory is what operations on files use of mpi.Buffer: the packed bytes of a user's
// memory, in the representation of the file.
package memory

import (
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
)

// A Memory is the bytes of a Buffer, numbered from 0 in the order of its datatype.
type Memory struct {
	mem           []byte
	origin, count int
	t             *datatype.Type // nil: there are no bytes
	external      bool           // in external32
	size          int64
	piece         []byte // all bytes, if they lie together and need no conversion
}

// Of checks a Buffer and returns its Memory. external says that the file has external32. into says
// that the memory is read into.
func Of(b mpi.Buffer, external, into bool) (*Memory, error) {
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
	m := &Memory{mem: mem, origin: origin, count: count, t: t, external: external && !bytes1(t), size: int64(size)}
	if off, n, ok := t.Piece(count); ok && !m.external {
		m.piece = mem[origin+off:][:n]
	}
	return m, nil
}

// bytes1 tells whether a type is single bytes, which no representation changes.
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

// Pack copies the bytes from offset from on to dst.
func (m *Memory) Pack(dst []byte, from int64) {
	if m.piece != nil {
		copy(dst, m.piece[from:])
		return
	}
	c := m.cursor(from)
	if m.external {
		c.PackExternal(dst)
	} else {
		c.Pack(dst)
	}
}

// Unpack copies src to the bytes from offset from on.
func (m *Memory) Unpack(from int64, src []byte) {
	if m.piece != nil {
		copy(m.piece[from:], src)
		return
	}
	c := m.cursor(from)
	if m.external {
		c.UnpackExternal(src)
	} else {
		c.Unpack(src)
	}
}

func (m *Memory) cursor(from int64) datatype.Cursor {
	c, err := datatype.NewCursor(m.t, m.mem, m.origin, m.count)
	if err != nil {
		panic("mpi/file: an unchecked buffer: " + err.Error())
	}
	c.Skip(int(from))
	return c
}
