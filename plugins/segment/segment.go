//go:build linux

package segment

import (
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/plugins/ring"
)

// ArenaMin and ArenaMax bound an arena, in bytes.
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

// ringBytes is what a ring takes, in whole pages.
func ringBytes(size int) int { return (ring.Bytes(size) + pageBytes - 1) &^ (pageBytes - 1) }

// Rings are the two rings of one incarnation of a plugin, mapped.
type Rings struct {
	mem []byte
	// ToPlugin and ToProgram are the memory of the rings, each for package ring.
	ToPlugin, ToProgram []byte
}

// CreateRings makes rings with room for so many bytes of records each, a power of two
// from ring.DataMin to ring.DataMax, and maps them. The descriptor is for the plugin, and
// the caller's to close. The error is ErrInvalid or the system's.
func CreateRings(bytes int) (*Rings, int, error) {
	mem, fd, err := kindRings.create(bytes)
	if err != nil {
		return nil, -1, err
	}
	return newRings(mem, bytes), fd, nil
}

// MapRings maps the rings behind a descriptor, which stays the caller's. The error is
// ErrInvalid if they are none, or the system's.
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

// Close unmaps the rings. Nobody may use their memory any more.
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

// CreateArena makes an arena of so many bytes, a power of two from ArenaMin to ArenaMax,
// and maps it; pages take memory once they are touched. The descriptor is for the plugins
// that come and go, and the caller's to close. The error is ErrInvalid or the system's.
func CreateArena(bytes int) (*Arena, int, error) {
	mem, fd, err := kindArena.create(bytes)
	if err != nil {
		return nil, -1, err
	}
	return newArena(mem, bytes), fd, nil
}

// MapArena maps the arena behind a descriptor, which stays the caller's. The error is
// ErrInvalid if it is none, or the system's.
func MapArena(fd int) (*Arena, error) {
	mem, bytes, err := kindArena.open(fd)
	if err != nil {
		return nil, err
	}
	return newArena(mem, bytes), nil
}

// newArena asks for huge pages, in which the kernel moves large messages in a third of the
// time. It gives them where /sys/kernel/mm/transparent_hugepage/shmem_enabled is advise
// or always, and it is never by default.
func newArena(mem []byte, bytes int) *Arena {
	_ = unix.Madvise(mem, unix.MADV_HUGEPAGE) // a kernel without them is as good
	return &Arena{all: mem, Mem: cut(mem, pageBytes, bytes)}
}

// Close unmaps the arena. Nobody may use its memory any more.
func (a *Arena) Close() error {
	mem := a.all
	*a = Arena{}
	return unix.Munmap(mem)
}

func cut(mem []byte, off, n int) []byte { return mem[off : off+n : off+n] }
