package store

import (
	"errors"
	"os"
	"syscall"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Data is an open datafile. Its owner must Close it, once. All other methods may be called at once.
type Data struct {
	files *files
	file  *file
}

// OpenData opens the bytes of a datafile for several accesses. The object must be there (ENOENT, EINVAL if it is not a datafile).
// If the datafile is removed in the meantime, its bytes stay readable until Close, as with an open file.
func (s *Store) OpenData(h proto.Handle) (*Data, error) { return s.OpenDataOf(h, 0, false) }

// OpenDataOf is OpenData for a request with rights to one metafile; 0 means rights to all. EACCES: the datafile belongs to
// another metafile. A datafile that was made ahead of need belongs to no metafile until it is first opened to write.
func (s *Store) OpenDataOf(h, metafile proto.Handle, writes bool) (*Data, error) {
	f, err := s.files.acquire(h)
	if err != nil {
		return nil, err
	}
	d := &Data{files: s.files, file: f}
	if f.get() == nil {
		var is proto.Handle
		if is, err = s.metafileOf(h); err == nil {
			f.learn(is)
			_, err = f.open(s.files, false)
		}
	}
	if err == nil && metafile != 0 {
		err = s.files.claim(f, metafile, writes)
	}
	if err != nil {
		s.files.release(f)
		return nil, err
	}
	return d, nil
}

// ReadAt reads bytes. A short count and no error: the end of the bytes. Holes are zeros. EIO, a *DamageError: a block does not
// match its checksum; bytes that were read of it must not be used.
func (d *Data) ReadAt(p []byte, off int64) (n int, err error) {
	file := d.file.get()
	if file == nil {
		if file, err = d.file.open(d.files, false); err != nil || file == nil {
			return 0, err
		}
	}
	if off < 0 {
		return 0, fault("read", d.file.h, syscall.EINVAL)
	}
	if n, err = file.readAt(p, off); err != nil {
		return n, fault("read", d.file.h, err)
	}
	return n, nil
}

// InMemory tells whether bytes of File, and what Verify needs for them, are in memory, so that neither waits for a disk. It is false
// if the datafile is known to be damaged.
func (d *Data) InMemory(off int64, n int) bool {
	file := d.file.get()
	if file == nil || !file.inMemory(off, n) {
		return false
	}
	_, damaged := d.files.store.DamageOf(d.file.h)
	return !damaged
}

// Verify checks bytes that were read from File against their checksums. EIO, a *DamageError: they do not match, and must not be
// used.
func (d *Data) Verify(p []byte, off int64) error {
	if file := d.file.get(); file != nil {
		if err := file.verify(p, off); err != nil {
			return fault("read", d.file.h, err)
		}
	}
	return nil
}

// File is the open file with the bytes, which is the caller's to read until Close, and then to Verify; nil if nothing
// was ever written, or if the disk has none to give.
func (d *Data) File() (*os.File, error) {
	file := d.file.get()
	if file == nil {
		var err error
		if file, err = d.file.open(d.files, false); err != nil || file == nil {
			return nil, err
		}
	}
	return file.data.File(), nil
}

// WriteAt writes bytes. The first one makes the file. EFBIG: beyond what the local file system can.
func (d *Data) WriteAt(p []byte, off int64) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	if off < 0 {
		return 0, fault("write", d.file.h, syscall.EINVAL)
	}
	if off+int64(len(p)) < 0 {
		return 0, fault("write", d.file.h, syscall.EFBIG)
	}
	file := d.file.get()
	if file == nil {
		if file, err = d.file.open(d.files, true); err != nil {
			return 0, err
		}
	}
	if m := d.file.mark.Load(); m != nil {
		defer func() { m.wrote(off, int64(n)) }()
	}
	if n, err = file.writeAt(p, off); err != nil {
		return n, fault("write", d.file.h, err)
	}
	return n, nil
}

// Truncate sets the size. EFBIG: the local file system has no files of this size.
func (d *Data) Truncate(size int64) error {
	if size < 0 {
		return fault("truncate", d.file.h, syscall.EINVAL)
	}
	m := d.file.mark.Load()
	err := d.truncate(size)
	if err == nil && m != nil {
		m.cut(size)
	}
	return err
}

func (d *Data) truncate(size int64) error {
	file := d.file.get()
	if file == nil {
		var err error
		if file, err = d.file.open(d.files, size > 0); err != nil || file == nil {
			return err
		}
	}
	err := file.truncate(size)
	if errors.Is(err, syscall.EINVAL) { // some file systems say so of a size that is too large
		err = syscall.EFBIG
	}
	if err != nil {
		return fault("truncate", d.file.h, err)
	}
	return nil
}

// Size returns the size; 0 if nothing was ever written.
func (d *Data) Size() (int64, error) {
	file := d.file.get()
	if file == nil {
		var err error
		if file, err = d.file.open(d.files, false); err != nil || file == nil {
			return 0, err
		}
	}
	n, err := file.data.Size()
	if err != nil {
		return 0, fault("size", d.file.h, err)
	}
	return n, nil
}

// Sync puts the bytes on the disk, and the file's name, which may be new. Once that has failed, it fails with EIO until all
// of the datafile is written again or truncated, see docs/internals/protocols/pvfs-storage.md.
func (d *Data) Sync() error { return d.files.sync(d.file) }

// Close gives it back.
func (d *Data) Close() error {
	d.files.release(d.file)
	return nil
}

func (s *Store) withData(h proto.Handle, f func(*Data) error) error {
	d, err := s.OpenData(h)
	if err != nil {
		return err
	}
	defer d.Close() // never fails
	return f(d)
}

// ReadAt is OpenData, Data.ReadAt and Close.
func (s *Store) ReadAt(h proto.Handle, p []byte, off int64) (n int, err error) {
	err = s.withData(h, func(d *Data) (err error) {
		n, err = d.ReadAt(p, off)
		return err
	})
	return n, err
}

// WriteAt is OpenData, Data.WriteAt and Close.
func (s *Store) WriteAt(h proto.Handle, p []byte, off int64) (n int, err error) {
	err = s.withData(h, func(d *Data) (err error) {
		n, err = d.WriteAt(p, off)
		return err
	})
	return n, err
}

// Truncate is OpenData, Data.Truncate and Close.
func (s *Store) Truncate(h proto.Handle, size int64) error {
	return s.withData(h, func(d *Data) error { return d.Truncate(size) })
}

// SyncDatafile is OpenData, Data.Sync and Close.
func (s *Store) SyncDatafile(h proto.Handle) error {
	return s.withData(h, func(d *Data) error { return d.Sync() })
}

// Size returns the size of a datafile's bytes without opening it; 0 if nothing was ever written. It does
// not look whether the object is there.
func (s *Store) Size(h proto.Handle) (int64, error) { return s.files.size(h) }
