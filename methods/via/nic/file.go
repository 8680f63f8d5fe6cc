package nic

import (
	"errors"
	"io"
	"os"
)

// A FileRange is Len bytes of a regular file, starting at Off. Bytes beyond the end of the file are zeros: the file may be
// truncated at any time. The file must stay open while the device owns its descriptor.
type FileRange struct {
	File *os.File
	Off  int64
	Len  int
	Err  error // why the file cannot be read, set with StatusFileError

	// Check, unless it is nil, is called with the bytes read, piece by piece, with their offset in the file, before the
	// descriptor is done. An error from Check counts as a read error of the file.
	Check func(b []byte, off int64) error
}

// Fill reads len(b) bytes into b, starting at byte at of the range. 0 ≤ at ≤ Len - len(b).
func (r *FileRange) Fill(b []byte, at int) error {
	n, err := r.File.ReadAt(b, r.Off+int64(at))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil {
		err = r.Checked(b[:n], at)
	}
	if err != nil {
		r.Err = err
		return err
	}
	clear(b[n:])
	return nil
}

// Checked checks bytes read from byte at of the range on.
func (r *FileRange) Checked(b []byte, at int) error {
	if r.Check == nil || len(b) == 0 {
		return nil
	}
	return r.Check(b, r.Off+int64(at))
}

// Size is the number of bytes a descriptor has to move: those of its segments, or of its file.
func (d *Descriptor) Size() int {
	n := d.File.Len
	for i := range d.Segments {
		n += len(d.Segments[i].Data)
	}
	return n
}
