package shm

import (
	"errors"
	"io"
	"runtime/debug"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// moveFile moves the next n bytes of a write from a file, or some of them: straight into the other
// side's memory where this process has that mapped, else through a buffer that stays in the cache.
// It says StatusPending if that worked.
//
// Where the other side's memory is mapped, nothing but the kernel and checkPlaced touch it: what is not there fails
// the call. Zeros for what lies beyond the file's end go through the buffer, therefore.
func (c *conn) moveFile(d *nic.Descriptor, n int, rights uint64) (int, nic.Status) {
	from := d.File.Off + int64(d.Length)
	if to := c.at(d.Remote.Addr+uint64(d.Length), n, rights); to != nil {
		got, err := d.File.File.ReadAt(to, from)
		switch {
		case got > 0: // whatever is wrong shows when it goes on from there
			if err := checkPlaced(&d.File, to[:got], d.Length); errors.Is(err, unix.EFAULT) {
				return 0, nic.StatusRDMAError
			} else if err != nil {
				d.File.Err = err
				return 0, nic.StatusFileError
			}
			c.dev.stats.FileBytes += uint64(got)
			return got, nic.StatusPending
		case errors.Is(err, unix.EFAULT):
			return 0, nic.StatusRDMAError
		case !errors.Is(err, io.EOF):
			d.File.Err = err
			return 0, nic.StatusFileError
		}
	}
	buf, err := c.dev.fileBuffer()
	if err != nil {
		d.File.Err = err
		return 0, nic.StatusFileError
	}
	buf = buf[:min(n, len(buf))]
	if d.File.Fill(buf, d.Length) != nil {
		return 0, nic.StatusFileError
	}
	c.dev.iov[0].Base = &buf[0]
	c.dev.iov[0].SetLen(len(buf))
	return c.cross(unix.SYS_PROCESS_VM_WRITEV, d, len(buf), 1)
}

// checkPlaced has bytes checked that are in the other side's memory, which it may take away. EFAULT: it has.
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

// fileBuffer is where bytes of files stop that have to be copied twice.
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
