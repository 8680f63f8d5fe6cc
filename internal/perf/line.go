package perf

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A sharedPair is memory that two processes map, for the bare limits: a cache
// line with the turn, and one buffer for each side.
type sharedPair struct {
	file *os.File
	mem  []byte
	turn *uint64
	size int
}

// headBytes is the room for the turn: a page, so that the buffers behind it are
// page-aligned.
const headBytes = 4096

// newSharedPair makes the memory, with room for messages of size bytes.
func newSharedPair(size int) (*sharedPair, error) {
	fd, err := unix.MemfdCreate("bmi-perf-limit", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("perf: make shared memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), "bmi-perf-limit")
	if err := file.Truncate(int64(headBytes + 2*pages(size))); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("perf: make shared memory: %w", err)
	}
	return mapSharedPair(file)
}

// pages rounds up to whole pages.
func pages(n int) int { return (n + headBytes - 1) &^ (headBytes - 1) }

// mapSharedPair maps the file of another process. It owns the file from then on.
func mapSharedPair(file *os.File) (*sharedPair, error) {
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("perf: look at the shared memory: %w", err)
	}
	total := info.Size()
	if total < headBytes || total > headBytes+2*SizeMax || (total-headBytes)%(2*headBytes) != 0 {
		_ = file.Close()
		return nil, fmt.Errorf("perf: shared memory of %d bytes is none of ours", total)
	}
	mem, err := unix.Mmap(int(file.Fd()), 0, int(total), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("perf: map the shared memory: %w", err)
	}
	return &sharedPair{
		file: file,
		mem:  mem,
		turn: (*uint64)(unsafe.Pointer(&mem[0])),
		size: (int(total) - headBytes) / 2,
	}, nil
}

func (s *sharedPair) close() error {
	return errors.Join(unix.Munmap(s.mem), s.file.Close())
}

// buffer is the buffer that side 0 or 1 writes.
func (s *sharedPair) buffer(side, size int) []byte {
	start := headBytes + side*s.size
	return s.mem[start : start+size : start+size]
}

// spinsPerLook is how often await reads the line between two checks whether the
// other side is alive.
const spinsPerLook = 1 << 16

// errPeerGone ends a wait for a line whose writer has ended.
var errPeerGone = errors.New("perf: the process at the other end of the shared line ended")

// await spins until it is turn want.
func (s *sharedPair) await(want uint64, gone *atomic.Bool) error {
	for {
		for range spinsPerLook {
			if atomic.LoadUint64(s.turn) == want {
				return nil
			}
		}
		if gone.Load() {
			return errPeerGone
		}
	}
}

// lead makes n round trips from turn on, as the side that starts. size bytes, if
// any, move each way with one plain copy: each side reads what the other has
// written.
func (s *sharedPair) lead(turn uint64, n, size int, gone *atomic.Bool) error {
	mine, theirs := s.buffer(0, size), s.buffer(1, size)
	for range n {
		copy(mine, theirs)
		atomic.StoreUint64(s.turn, turn+1)
		if err := s.await(turn+2, gone); err != nil {
			return err
		}
		turn += 2
	}
	return nil
}

// follow answers n round trips.
func (s *sharedPair) follow(n, size int, gone *atomic.Bool) error {
	mine, theirs := s.buffer(1, size), s.buffer(0, size)
	for turn := uint64(0); n > 0; n-- {
		if err := s.await(turn+1, gone); err != nil {
			return err
		}
		copy(mine, theirs)
		turn += 2
		atomic.StoreUint64(s.turn, turn)
	}
	return nil
}
