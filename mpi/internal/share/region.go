package share

import (
	"crypto/rand"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Region is memory that several processes map.
type Region struct {
	mem []byte
	fd  int // -1 unless this process made the region and still offers it
}

// A Name is how other processes of the host find a region, and recognise it.
type Name struct {
	PID, FD int
	Nonce   [nonceBytes]byte
}

const (
	nonceBytes = 16
	// seals keep a region's size as it is.
	seals = unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	// bytesMax is the largest region.
	bytesMax = 1 << 46
)

// Create makes a region. All its memory is allocated, so that a lack of it is an error here, and no
// fault later.
func Create(bytes int) (*Region, Name, error) {
	if bytes < nonceBytes || bytes > bytesMax {
		return nil, Name{}, errclass.New(errclass.Size, "a region of %d bytes", bytes)
	}
	fd, err := unix.MemfdCreate("viaduct-window", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, Name{}, errclass.Wrap(errclass.NoMem, err, "memory to share")
	}
	r := &Region{fd: fd}
	if err = r.fill(bytes); err == nil {
		err = r.mapAll(fd, bytes)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, Name{}, errclass.Wrap(errclass.NoMem, err, "%d bytes of memory to share", bytes)
	}
	n := Name{PID: os.Getpid(), FD: fd}
	if _, err := rand.Read(n.Nonce[:]); err != nil {
		r.Close()
		return nil, Name{}, errclass.Wrap(errclass.Other, err, "no random numbers")
	}
	copy(r.mem, n.Nonce[:])
	return r, n, nil
}

func (r *Region) fill(bytes int) error {
	if err := unix.Ftruncate(r.fd, int64(bytes)); err != nil {
		return err
	}
	if err := unix.Fallocate(r.fd, 0, 0, int64(bytes)); err != nil {
		return err
	}
	_, err := unix.FcntlInt(uintptr(r.fd), unix.F_ADD_SEALS, seals)
	return err
}

func (r *Region) mapAll(fd, bytes int) (err error) {
	r.mem, err = unix.Mmap(fd, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return err
}

// Open maps a region of another process, which must have exactly this size. The name may come from
// a hostile process: only a sealed memory file with the nonce in it is mapped and kept.
func Open(n Name, bytes int) (*Region, error) {
	if n.PID <= 0 || n.FD < 0 || bytes < nonceBytes || bytes > bytesMax {
		return nil, errclass.New(errclass.Other, "a region of process %d with the descriptor %d and %d bytes", n.PID, n.FD, bytes)
	}
	path, err := unix.Open(fmt.Sprintf("/proc/%d/fd/%d", n.PID, n.FD), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errclass.Wrap(errclass.Other, err, "memory of process %d", n.PID)
	}
	defer unix.Close(path)
	if err := isMemory(path, bytes); err != nil {
		return nil, err
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", path), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errclass.Wrap(errclass.Other, err, "memory of process %d", n.PID)
	}
	defer unix.Close(fd)
	if has, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0); err != nil || has&seals != seals {
		return nil, errclass.New(errclass.Other, "the memory of process %d is not sealed", n.PID)
	}
	if err := isMemory(fd, bytes); err != nil { // its size cannot change any more
		return nil, err
	}
	r := &Region{fd: -1}
	if err := r.mapAll(fd, bytes); err != nil {
		return nil, errclass.Wrap(errclass.NoMem, err, "mapping %d bytes of process %d", bytes, n.PID)
	}
	if [nonceBytes]byte(r.mem) != n.Nonce {
		r.Close()
		return nil, errclass.New(errclass.Other, "the memory of process %d is not the one that it named", n.PID)
	}
	return r, nil
}

// isMemory returns an error unless a descriptor is a file of that size in memory.
func isMemory(fd, bytes int) error {
	var st unix.Stat_t
	var fs unix.Statfs_t
	if err := unix.Fstat(fd, &st); err != nil {
		return errclass.Wrap(errclass.Other, err, "memory of another process")
	}
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return errclass.Wrap(errclass.Other, err, "memory of another process")
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int64(fs.Type) != unix.TMPFS_MAGIC || st.Size != int64(bytes) {
		return errclass.New(errclass.Other, "what another process offers as %d bytes of memory is something else", bytes)
	}
	return nil
}

// Hide makes the region impossible to open. Those that have opened it keep it.
func (r *Region) Hide() {
	if r.fd >= 0 {
		_ = unix.Close(r.fd)
		r.fd = -1
	}
}

// Bytes returns all of the memory.
func (r *Region) Bytes() []byte { return r.mem }

// Discard makes all bytes 0 and gives their memory back to the system, in all processes that map the
// region.
func (r *Region) Discard() {
	_ = unix.Madvise(r.mem, unix.MADV_REMOVE) // where that is not possible, Close does it
}

// Close unmaps the memory, which must not be used any more.
func (r *Region) Close() {
	r.Hide()
	if r.mem != nil {
		_ = unix.Munmap(r.mem) // fails only for memory that is not mapped
		r.mem = nil
	}
}
