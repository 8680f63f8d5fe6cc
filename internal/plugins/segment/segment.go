//go:build linux

package segment

import (
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/plugins/ring"
)

// ArenaMin and ArenaMax limit an arena, in bytes.
const ArenaMin, ArenaMax = 4 << 10, 1 << 40

var (
	kindRings = kind{
		code: 1, name: "rings", min: ring.DataMin, max: ring.DataMax,
		total: func(size int) int { return pageBytes + 2*ringBytes(size) },
	}
	kindArena = kind{
		code: 2, name: "arena", min: ArenaMin, max: ArenaMax,
		total: func(size int) int { return pageBytes + size },
	}
)

// ringBytes returns the size of a ring, in whole pages.
func ringBytes(size int) int { return (ring.Bytes(size) + pageBytes - 1) &^ (pageBytes - 1) }

// Rings are the two rings of one incarnation of a plugin, mapped.
type Rings struct {
	mem []byte
	// ToPlugin and ToProgram are the rings' memory, for package ring.
	ToPlugin, ToProgram []byte
}

// CreateRings makes rings with bytes of record space each, a power of two from ring.DataMin to
// ring.DataMax, and maps them. The descriptor is for the plugin; the caller closes it. The error is
// ErrInvalid or the system's.
func CreateRings(bytes int) (*Rings, int, error) {
	mem, fd, err := kindRings.create(bytes)
	if err != nil {
		return nil, -1, err
	}
	return newRings(mem, bytes), fd, nil
}

// MapRings maps the rings of a descriptor, which stays open. The error is ErrInvalid or the
// system's.
func MapRings(fd int) (*Rings, error) {
	mem, bytes, err := kindRings.open(fd)
	if err != nil {
		return nil, err
	}
	return newRings(mem, bytes), nil
}

func newRings(mem []byte, bytes int) *Rings {
	return &Rings{mem: mem, ToPlugin: cut(mem, pageBytes, ring.Bytes(bytes)), ToProgram: cut(mem, pageBytes+ringBytes(bytes), ring.Bytes(bytes))}
}

// Close unmaps the rings. Their memory must not be used any more.
func (r *Rings) Close() error {
	mem := r.mem
	*r = Rings{}
	return unix.Munmap(mem)
}

// An Arena is the memory for messages, mapped.
type Arena struct {
	all []byte
	// Mem is the arena; its length is a power of two.
	Mem []byte
}

// CreateArena makes an arena of bytes, a power of two from ArenaMin to ArenaMax, and maps it; a
// page takes memory when it is first used. The descriptor is for successive plugins; the caller
// closes it. The error is ErrInvalid or the system's.
func CreateArena(bytes int) (*Arena, int, error) {
	mem, fd, err := kindArena.create(bytes)
	if err != nil {
		return nil, -1, err
	}
	return newArena(mem, bytes), fd, nil
}

// MapArena maps the arena of a descriptor, which stays open. The error is ErrInvalid or the
// system's.
func MapArena(fd int) (*Arena, error) {
	mem, bytes, err := kindArena.open(fd)
	if err != nil {
		return nil, err
	}
	return newArena(mem, bytes), nil
}

// newArena asks for huge pages, with which the kernel moves large messages in a third of the time.
// The kernel uses them if /sys/kernel/mm/transparent_hugepage/shmem_enabled is advise or always;
// the default is never.
func newArena(mem []byte, bytes int) *Arena {
	_ = unix.Madvise(mem, unix.MADV_HUGEPAGE) // works as well on a kernel without them
	return &Arena{all: mem, Mem: cut(mem, pageBytes, bytes)}
}

// Close unmaps the arena. Its memory must not be used any more.
func (a *Arena) Close() error {
	mem := a.all
	*a = Arena{}
	return unix.Munmap(mem)
}

func cut(mem []byte, off, n int) []byte { return mem[off : off+n : off+n] }
