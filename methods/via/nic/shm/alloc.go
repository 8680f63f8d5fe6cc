package shm

import (
	"fmt"
	"math/bits"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	pageBytes  = 4096
	hugeBytes  = 2 << 20
	arenaBytes = 1 << 20
	classMax   = arenaBytes / 4 // larger pieces get a mapping of their own
	classes    = 7              // 4 KiB << class, up to classMax
)

// allocator gives out page-aligned memory that is already backed, so that
// neither the owner nor a peer's RDMA meets page faults in it.
type allocator struct {
	arenas [][]byte
	free   [classes][][]byte
	live   map[*byte][]byte // what is out, by its first byte; the whole piece
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
func (d *Device) Alloc(size int) ([]byte, error) {
	if size <= 0 || size > allocMax {
		return nil, fmt.Errorf("shm: cannot allocate %d bytes, at most %d", size, int64(allocMax))
	}
	m := &d.memory
	if m.live == nil {
		m.live = make(map[*byte][]byte)
	}
	piece, err := m.take(size)
	if err != nil {
		return nil, err
	}
	m.live[unsafe.SliceData(piece)] = piece
	return piece[:size:size], nil
}

func (m *allocator) take(size int) ([]byte, error) {
	k := class(size)
	if k < 0 {
		return mapPrivate(size)
	}
	if len(m.free[k]) == 0 {
		arena, err := mapPrivate(arenaBytes)
		if err != nil {
			return nil, err
		}
		m.arenas = append(m.arenas, arena)
		for piece := pageBytes << k; len(arena) >= piece; arena = arena[piece:] {
			m.free[k] = append(m.free[k], arena[:piece:piece])
		}
	}
	last := len(m.free[k]) - 1
	piece := m.free[k][last]
	m.free[k] = m.free[k][:last]
	return piece, nil
}

// Free implements nic.Allocator. mem begins where Alloc's answer began.
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
	return unix.Munmap(piece)
}

// close gives everything back, also what was never freed.
func (m *allocator) close() {
	for _, piece := range m.live {
		if class(len(piece)) < 0 {
			unmap(piece)
		}
	}
	for _, arena := range m.arenas {
		unmap(arena)
	}
	*m = allocator{}
}

// mapPrivate maps and backs memory, in huge pages where that can pay.
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
