package shm

import (
	"fmt"
	"math/bits"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	pageBytes = 4096
	hugeBytes = 2 << 20
	classMax  = chunkBytes / 4 // larger pieces get their own mapping
	classes   = 7              // 4 KiB << class, up to classMax
)

// allocator returns page-aligned memory that is already backed, so that neither the owner nor a peer's
// RDMA meets page faults in it; large pieces of the arena are the exception. Small pieces come from the
// arena as long as it has room, large ones only if requested: otherwise they are in huge pages.
type allocator struct {
	shared arena
	chunks [][]byte // outside the arena
	free   [classes][][]byte
	live   map[*byte][]byte // allocated memory, by its first byte; the whole piece
}

// class is the size class of a size, or -1 for a mapping of its own.
func class(size int) int {
	if size > classMax {
		return -1
	}
	return bits.Len(uint(max(size, 1)-1) / pageBytes)
}

// Alloc implements nic.Allocator. The memory is page-aligned; its content is
// unspecified.
func (d *Device) Alloc(size int, shared bool) ([]byte, error) {
	if size <= 0 || size > allocMax {
		return nil, fmt.Errorf("shm: cannot allocate %d bytes, at most %d", size, int64(allocMax))
	}
	m := &d.memory
	if m.live == nil {
		m.live = make(map[*byte][]byte)
		m.shared.none = d.noCMA // no peer could use it
	}
	piece, err := m.take(size, shared)
	if err != nil {
		return nil, err
	}
	m.live[unsafe.SliceData(piece)] = piece
	return piece[:size:size], nil
}

func (m *allocator) take(size int, shared bool) ([]byte, error) {
	k := class(size)
	if k < 0 {
		if shared {
			if mem := m.shared.take(size); mem != nil {
				return mem, nil
			}
		}
		return mapPrivate(size)
	}
	if len(m.free[k]) == 0 {
		chunk := m.shared.take(chunkBytes)
		if chunk != nil {
			if err := backPages(chunk); err != nil {
				m.shared.give(chunk)
				return nil, resourceError("memory", err)
			}
		} else {
			var err error
			if chunk, err = mapPrivate(chunkBytes); err != nil {
				return nil, err
			}
			m.chunks = append(m.chunks, chunk)
		}
		for piece := pageBytes << k; len(chunk) >= piece; chunk = chunk[piece:] {
			m.free[k] = append(m.free[k], chunk[:piece:piece])
		}
	}
	last := len(m.free[k]) - 1
	piece := m.free[k][last]
	m.free[k] = m.free[k][:last]
	return piece, nil
}

// Free implements nic.Allocator. mem must begin where the result of Alloc began.
func (d *Device) Free(mem []byte) error {
	first := unsafe.SliceData(mem)
	piece, ok := d.memory.live[first]
	if !ok {
		return fmt.Errorf("shm: memory was not allocated here, or is free already")
	}
	delete(d.memory.live, first)
	if k := class(len(piece)); k >= 0 {
		d.memory.free[k] = append(d.memory.free[k], piece)
		return nil
	}
	if d.memory.shared.offset(piece) >= 0 {
		d.memory.shared.give(piece)
		return nil
	}
	return unix.Munmap(piece)
}

// close frees everything, including memory that was never freed.
func (m *allocator) close() {
	for _, piece := range m.live {
		if class(len(piece)) < 0 && m.shared.offset(piece) < 0 {
			unmap(piece)
		}
	}
	for _, chunk := range m.chunks {
		unmap(chunk)
	}
	m.shared.close()
	*m = allocator{}
}

// mapPrivate maps and backs memory, in huge pages where that may help.
func mapPrivate(size int) ([]byte, error) {
	unit := pageBytes
	if size >= hugeBytes {
		unit = hugeBytes
	}
	size = (size + unit - 1) / unit * unit
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, resourceError("memory", err)
	}
	if unit == hugeBytes {
		_ = unix.Madvise(mem, unix.MADV_HUGEPAGE)
	}
	if err := backPages(mem); err != nil {
		unmap(mem)
		return nil, resourceError("memory", err)
	}
	return mem, nil
}
