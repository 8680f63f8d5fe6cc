package shm

import (
	"errors"
	"io"
	"runtime/debug"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// moveFile moves up to n more bytes of a write from a file: directly into the other side's memory if this process
// has that mapped, else through a buffer that stays in the cache. It returns StatusPending if that worked.
//
// Mapped memory of the other side is touched only by the kernel and checkPlaced, so that missing pages fail the
// call. Therefore zeros for bytes beyond the end of the file go through the buffer.
func (c *conn) moveFile(d *nic.Descriptor, n int, rights uint64) (int, nic.Status) {
	if to := c.at(d.Remote.Addr+uint64(d.Length), n, rights); to != nil {
		got, err := d.File.File.ReadAt(to, d.File.Off+int64(d.Length))
		if got > 0 { // an error will show when it continues from there
			err = checkPlaced(&d.File, to[:got], d.Length)
		}
		switch {
		case errors.Is(err, unix.EFAULT):
			return 0, nic.StatusRDMAError
		case got > 0 && err == nil:
			c.dev.stats.FileBytes += uint64(got)
			return got, nic.StatusPending
		case got > 0 || !errors.Is(err, io.EOF):
			return unreadable(d, err)
		}
	}
	buf, err := c.dev.fileBuffer()
	if err != nil {
		return unreadable(d, err)
	}
	buf = buf[:min(n, len(buf))]
	if err := d.File.Fill(buf, d.Length); err != nil {
		return unreadable(d, err)
	}
	c.dev.iov[0].Base = &buf[0]
	c.dev.iov[0].SetLen(len(buf))
	return c.cross(unix.SYS_PROCESS_VM_WRITEV, d, len(buf), 1)
}

// unreadable is the result of a write whose file cannot be read.
func unreadable(d *nic.Descriptor, err error) (int, nic.Status) {
	d.FileErr = err
	return 0, nic.StatusFileError
}

// checkPlaced checks bytes that are in the other side's memory. EFAULT: the other side has taken the memory away.
func checkPlaced(f *nic.FileRange, b []byte, at int) (err error) {
	if f.Check == nil {
		return nil
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		failed := recover()
		if failed == nil {
			return
		}
		fault, ok := failed.(interface{ Addr() uintptr })
		if start := uintptr(unsafe.Pointer(&b[0])); !ok || fault.Addr()-start >= uintptr(len(b)) {
			panic(failed)
		}
		err = unix.EFAULT
	}()
	return f.Checked(b, at)
}

// fileBuffer is the buffer for bytes of files that must be copied twice.
func (d *Device) fileBuffer() ([]byte, error) {
	if d.fileBuf == nil {
		mem, err := mapPrivate(fileBufferBytes)
		if err != nil {
			return nil, err
		}
		d.fileBuf = mem
	}
	return d.fileBuf, nil
}
