package shm

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

const (
	segmentSeals = unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	tableSeals   = segmentSeals | unix.F_SEAL_FUTURE_WRITE
	writeSeals   = unix.F_SEAL_WRITE | unix.F_SEAL_FUTURE_WRITE
)

// newMemfd makes an anonymous file of the given size, not yet sealed.
func newMemfd(name string, size int64) (int, error) {
	flags := unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(name, flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(name, flags)
	}
	if err != nil {
		return -1, resourceError("shared memory", err)
	}
	if err := unix.Ftruncate(fd, size); err != nil {
		_ = unix.Close(fd)
		return -1, resourceError("shared memory", err)
	}
	return fd, nil
}

// newSegment makes, backs and seals the shared memory of a connection. The
// control page and the slots get their pages now, so that a later access cannot
// fail for lack of memory. A buffer gets its pages when it is first used.
func newSegment() (fd int, mem []byte, err error) {
	fd, err = newMemfd("viaduct-segment", segmentBytes)
	if err != nil {
		return -1, nil, err
	}
	// The kernel stops at any signal, and the Go runtime sends some to itself.
	err = unix.EINTR
	for errors.Is(err, unix.EINTR) {
		err = unix.Fallocate(fd, 0, 0, bufferArea)
	}
	if err != nil && !errors.Is(err, unix.EOPNOTSUPP) {
		_ = unix.Close(fd)
		return -1, nil, resourceError("shared memory", err)
	}
	if mem, err = mapShared(fd, segmentBytes, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		_ = unix.Close(fd)
		return -1, nil, err
	}
	if err = seal(fd, segmentSeals); err != nil {
		_ = unix.Close(fd)
		unmap(mem)
		return -1, nil, err
	}
	atomic.StoreUint64(wordAt(mem, 0), uint64(formatMagic)|uint64(formatVersion)<<32)
	return fd, mem, nil
}

// newTable makes a device's registration table: mem is our writable view, and fd
// gives other processes read access only.
func newTable() (fd int, mem []byte, err error) {
	fd, err = newMemfd("viaduct-table", tableBytes)
	if err != nil {
		return -1, nil, err
	}
	if mem, err = mapShared(fd, tableBytes, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		_ = unix.Close(fd)
		return -1, nil, err
	}
	err = seal(fd, tableSeals)
	if errors.Is(err, unix.EINVAL) { // before Linux 5.1 there is no such seal
		err = seal(fd, segmentSeals)
	}
	if err != nil {
		_ = unix.Close(fd)
		unmap(mem)
		return -1, nil, err
	}
	return fd, mem, nil
}

func seal(fd, seals int) error {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return fmt.Errorf("shm: sealing shared memory: %w", err)
	}
	return nil
}

// openSegment maps a segment from another process, if it is a memfd that cannot
// shrink.
func openSegment(fd int) ([]byte, error) {
	if err := checkMemory(fd, segmentBytes, segmentSeals); err != nil {
		return nil, err
	}
	mem, err := mapShared(fd, segmentBytes, unix.PROT_READ|unix.PROT_WRITE)
	if err != nil {
		return nil, err
	}
	if atomic.LoadUint64(wordAt(mem, 0)) != uint64(formatMagic)|uint64(formatVersion)<<32 {
		unmap(mem)
		return nil, fmt.Errorf("shm: segment without our magic and version: %w", nic.ErrProtocol)
	}
	return mem, nil
}

// openTable maps the other side's registration table, read-only.
func openTable(fd int) ([]byte, error) {
	if err := checkMemory(fd, tableBytes, segmentSeals); err != nil {
		return nil, err
	}
	return mapShared(fd, tableBytes, unix.PROT_READ)
}

func checkMemory(fd int, size int64, seals int) error {
	have, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil || have&seals != seals || size == segmentBytes && have&writeSeals != 0 {
		return fmt.Errorf("shm: shared memory without the required seals: %w", nic.ErrProtocol)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Size != size {
		return fmt.Errorf("shm: shared memory of %d bytes instead of %d: %w", st.Size, size, nic.ErrProtocol)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil || fs.Type != unix.TMPFS_MAGIC {
		return fmt.Errorf("shm: shared memory that is no plain memfd: %w", nic.ErrProtocol)
	}
	return nil
}

// checkDoorbell checks that a descriptor from another process is an eventfd in
// non-blocking mode: writing to anything else could block us.
func checkDoorbell(fd int) error {
	var link [64]byte
	n, err := unix.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd), link[:])
	if err != nil || string(link[:n]) != "anon_inode:[eventfd]" {
		return fmt.Errorf("shm: doorbell is no eventfd: %w", nic.ErrProtocol)
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_NONBLOCK == 0 {
		return fmt.Errorf("shm: doorbell is not in non-blocking mode: %w", nic.ErrProtocol)
	}
	return nil
}

func mapShared(fd, size, prot int) ([]byte, error) {
	mem, err := unix.Mmap(fd, 0, size, prot, unix.MAP_SHARED)
	if err != nil {
		return nil, resourceError("mapping shared memory", err)
	}
	return mem, nil
}

func unmap(mem []byte) {
	if mem != nil {
		_ = unix.Munmap(mem)
	}
}

// backPages makes the kernel back mem with pages now. It returns an error where a
// plain write would crash the process.
func backPages(mem []byte) error {
	err := error(unix.EINTR)
	for errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
		err = unix.Madvise(mem, unix.MADV_POPULATE_WRITE)
	}
	if errors.Is(err, unix.EINVAL) { // before Linux 5.14 only a write can do it
		return nil
	}
	return err
}

// wordAt is the 64-bit word at an offset of shared memory.
func wordAt(mem []byte, off uintptr) *uint64 {
	return (*uint64)(unsafe.Pointer(&mem[off]))
}

// resourceError says what to do about a limit of the machine.
func resourceError(what string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, unix.EMFILE):
		hint = "; this process is out of file descriptors, raise its limit (ulimit -n)"
	case errors.Is(err, unix.ENFILE):
		hint = "; the machine is out of file descriptors, raise fs.file-max"
	case errors.Is(err, unix.ENOMEM), errors.Is(err, unix.ENOSPC):
		hint = "; out of memory or mappings, use fewer connections or raise the memory limit or vm.max_map_count"
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		hint = "; not permitted, check the process's security profile"
	}
	return fmt.Errorf("shm: %s: %w%s", what, err, hint)
}
