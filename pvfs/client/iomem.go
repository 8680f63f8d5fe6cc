package client

import (
	"iter"
	"sort"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/datatype"
)

// memory is the bytes of an I/O in order: one buffer, or several that count as one.
type memory struct {
	bufs [][]byte
	ends []int64 // where each ends; nil for one buffer
	size int64
}

func memoryOf(bufs ...[]byte) memory {
	if len(bufs) == 0 {
		bufs = [][]byte{nil}
	}
	m := memory{bufs: bufs}
	if len(bufs) == 1 {
		m.size = int64(len(bufs[0]))
		return m
	}
	for _, b := range bufs {
		m.size += int64(len(b))
		m.ends = append(m.ends, m.size)
	}
	return m
}

// parts yields the slices of n bytes from off on.
func (m *memory) parts(off, n int64) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if m.ends == nil {
			yield(m.bufs[0][off : off+n])
			return
		}
		i := sort.Search(len(m.ends), func(i int) bool { return m.ends[i] > off })
		for ; n > 0; i++ {
			b := m.bufs[i]
			start := off - (m.ends[i] - int64(len(b)))
			part := b[start:min(start+n, int64(len(b)))]
			if len(part) > 0 && !yield(part) {
				return
			}
			off, n = off+int64(len(part)), n-int64(len(part))
		}
	}
}

// of yields the slices of a datafile's pieces, in the order of the wire.
func (m *memory) of(pieces iter.Seq[datatype.Piece]) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for p := range pieces {
			for part := range m.parts(p.Mem, p.Len) {
				if !yield(part) {
					return
				}
			}
		}
	}
}

// sub is a part of the memory.
func (m *memory) sub(off, n int64) memory {
	if n == m.size {
		return *m
	}
	if m.ends == nil {
		return memoryOf(m.bufs[0][off : off+n])
	}
	var bufs [][]byte
	for part := range m.parts(off, n) {
		bufs = append(bufs, part)
	}
	return memoryOf(bufs...)
}
