package shm

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

const (
	chunkBytes  = 1 << 20
	arenaChunks = arenaBytes / chunkBytes
)

// An arena is memory of a device that its peers may map, so that they can put bytes of files there
// with one copy. It is a sparse memfd, mapped at an address divisible by its size: the lower bits of
// an address are its offset in the file.
type arena struct {
	fd   int // valid if mem is not nil
	mem  []byte
	used [arenaChunks]bool
	none bool // there is none and never will be
}

func (a *arena) open() error {
	fd, err := newMemfd("viaduct-arena", arenaBytes)
	if err != nil {
		return err
	}
	if err := seal(fd, segmentSeals); err != nil {
		closeFD(fd)
		return err
	}
	mem, err := mapAligned(fd)
	if err != nil {
		closeFD(fd)
		return err
	}
	a.fd, a.mem = fd, mem
	return nil
}

// mapAligned maps an arena's memfd: it reserves twice the addresses, and unmaps those around it.
func mapAligned(fd int) ([]byte, error) {
	room, err := unix.MmapPtr(-1, 0, nil, 2*arenaBytes, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, resourceError("addresses for shared memory", err)
	}
	before := -uintptr(room) % arenaBytes
	at := unsafe.Add(room, before)
	if _, err := unix.MmapPtr(fd, 0, at, arenaBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED); err != nil {
		_ = unix.MunmapPtr(room, 2*arenaBytes)
		return nil, resourceError("mapping shared memory", err)
	}
	if before > 0 {
		_ = unix.MunmapPtr(room, before)
	}
	_ = unix.MunmapPtr(unsafe.Add(at, arenaBytes), arenaBytes-before)
	return unsafe.Slice((*byte)(at), arenaBytes), nil
}

func (a *arena) close() {
	if a.mem != nil {
		_ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(a.mem)), arenaBytes)
		closeFD(a.fd)
	}
	*a = arena{none: true}
}

// take allocates memory in whole chunks. Their pages are allocated when they are touched: some may
// never be, and peers that write there take the page faults on all of their processors. nil: there is
// no room.
func (a *arena) take(size int) []byte {
	n := (size + chunkBytes - 1) / chunkBytes
	if a.none || n > arenaChunks {
		return nil
	}
	if a.mem == nil {
		if a.open() != nil {
			a.none = true // other memory works, too
			return nil
		}
	}
	run := 0
	for i := range a.used {
		if run++; a.used[i] {
			run = 0
		}
		if run < n {
			continue
		}
		start := i + 1 - n
		mem := a.mem[start*chunkBytes:][: n*chunkBytes : n*chunkBytes]
		for k := range n {
			a.used[start+k] = true
		}
		return mem
	}
	return nil
}

// give takes chunks back and frees their pages.
func (a *arena) give(mem []byte) {
	_ = unix.Madvise(mem, unix.MADV_REMOVE)
	start := a.offset(mem) / chunkBytes
	for k := range len(mem) / chunkBytes {
		a.used[start+k] = false
	}
}

// offset is the offset of memory in the arena; -1 if it is not in the arena.
func (a *arena) offset(mem []byte) int {
	if a.mem == nil {
		return -1
	}
	off := uintptr(unsafe.Pointer(unsafe.SliceData(mem))) - uintptr(unsafe.Pointer(unsafe.SliceData(a.mem)))
	if off >= arenaBytes {
		return -1
	}
	return int(off)
}

// descriptor is the entry for memory in the registration table: the arena's descriptor plus one, or 0.
func (a *arena) descriptor(mem []byte) uint64 {
	if a.offset(mem) < 0 || a.fd > descriptorMask-1 {
		return 0
	}
	return uint64(a.fd + 1)
}

// A theirArena is the arena of a connection's other side. Only the kernel writes there: if the other
// side changes its memory, a call may fail, but this process never crashes.
type theirArena struct {
	mem   []byte
	tried bool // to map it: a device has only one in its life
}

func (t *theirArena) unmap() {
	unmap(t.mem)
	t.mem = nil
}

// at returns n bytes of the other side's memory as mapped in this process; nil if they are not mapped.
// rights is from the memory's table entry.
func (c *conn) at(addr uint64, n int, rights uint64) []byte {
	fd := int(rights>>descriptorShift&descriptorMask) - 1
	if fd < 0 {
		return nil
	}
	if !c.arena.tried {
		c.arena.tried = true
		mem, err := c.fetchArena(fd)
		if err != nil {
			c.dev.log.Debug("shm: bytes of files are copied twice", "remote", c.remote, "err", err)
			return nil
		}
		c.arena.mem = mem
	}
	off := addr % arenaBytes
	if c.arena.mem == nil || uint64(n) > arenaBytes-off {
		return nil
	}
	return c.arena.mem[off:][:n:n]
}

// fetchArena gets and maps the memfd that is descriptor fd in the other side's process.
func (c *conn) fetchArena(fd int) ([]byte, error) {
	process, err := unix.PidfdOpen(c.peer.pid, 0)
	if err != nil {
		return nil, fmt.Errorf("shm: process %d: %w", c.peer.pid, err)
	}
	defer closeFD(process)
	if c.peerGone() { // the process id may belong to another process now
		return nil, nic.ErrPeerDied
	}
	memory, err := unix.PidfdGetfd(process, fd, 0)
	if err != nil {
		return nil, fmt.Errorf("shm: descriptor %d of process %d: %w", fd, c.peer.pid, err)
	}
	defer closeFD(memory)
	if err := checkMemory(memory, arenaBytes, segmentSeals); err != nil {
		return nil, err
	}
	return mapShared(memory, arenaBytes, unix.PROT_READ|unix.PROT_WRITE)
}
