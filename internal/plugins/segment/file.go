//go:build linux

package segment

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/plugins/wire"
)

// A kind is a kind of file. All parts of a file have one size, a power of two.
type kind struct {
	code     uint64
	name     string // for errors, and for /proc
	min, max int    // limits of the size of a part, in bytes
	// total returns the length of the file for a valid size of the parts.
	total func(size int) int
}

const (
	pageBytes = 4 << 10
	magic     = 0x6c70_7464_6976 // "vidtpl"
	seals     = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
)

// The first page, little-endian: magic (8 bytes), wire.Version (8), kind (8), size of a
// part (8); the rest is 0.
const headBytes = 32

// ErrInvalid: a descriptor is not a segment of this kind and version.
var ErrInvalid = errors.New("internal/plugins/segment: not a segment of this kind and version")

func (k *kind) check(size int) error {
	if size < k.min || size > k.max || size&(size-1) != 0 {
		return fmt.Errorf("%w: %s of %d bytes, want a power of two from %d to %d", ErrInvalid, k.name, size, k.min, k.max)
	}
	return nil
}

// create makes a file and maps it. The descriptor belongs to the caller.
func (k *kind) create(size int) (mem []byte, fd int, err error) {
	if err := k.check(size); err != nil {
		return nil, -1, err
	}
	fd, err = unix.MemfdCreate("viaduct-plugin-"+k.name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err == nil {
		if mem, err = k.fill(fd, size); err == nil {
			return mem, fd, nil
		}
		_ = unix.Close(fd)
	}
	return nil, -1, fmt.Errorf("internal/plugins/segment: memory to share with a plugin (%s): %w", k.name, err)
}

func (k *kind) fill(fd, size int) ([]byte, error) {
	if err := unix.Ftruncate(fd, int64(k.total(size))); err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return nil, err
	}
	mem, err := mapFile(fd, k.total(size))
	if err != nil {
		return nil, err
	}
	head := mem[:0]
	for _, v := range []uint64{magic, wire.Version, k.code, uint64(size)} {
		head = binary.LittleEndian.AppendUint64(head, v)
	}
	return mem, nil
}

// open maps the file of a descriptor, which stays open. It reads the first page only once, because
// the other side may change it.
func (k *kind) open(fd int) (mem []byte, size int, err error) {
	if got, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0); err != nil || got&seals != seals {
		return nil, 0, fmt.Errorf("%w: %s whose length is not sealed", ErrInvalid, k.name)
	}
	var head [headBytes]byte
	if n, err := unix.Pread(fd, head[:], 0); err != nil || n != len(head) {
		return nil, 0, fmt.Errorf("%w: %s of %d bytes: %v", ErrInvalid, k.name, n, err)
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(head[8*i:]) }
	if word(0) != magic || word(1) != wire.Version || word(2) != k.code || word(3) > uint64(k.max) {
		return nil, 0, fmt.Errorf("%w: %s that begins with %x", ErrInvalid, k.name, head)
	}
	size = int(word(3))
	if err := k.check(size); err != nil {
		return nil, 0, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Size != int64(k.total(size)) {
		return nil, 0, fmt.Errorf("%w: %s of %d bytes, want %d: %v", ErrInvalid, k.name, st.Size, k.total(size), err)
	}
	if mem, err = mapFile(fd, k.total(size)); err != nil {
		return nil, 0, fmt.Errorf("internal/plugins/segment: map %s: %w", k.name, err)
	}
	return mem, size, nil
}

func mapFile(fd, n int) ([]byte, error) {
	return unix.Mmap(fd, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}
