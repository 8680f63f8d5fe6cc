package nic

import (
	"errors"
	"io"
	"os"
)

// A FileRange is Len bytes of a regular file, from Off on. Those beyond the file's end are zeros:
// the file may be cut off at any time. It must stay open as long as its descriptor is the device's.
type FileRange struct {
	File *os.File
	Off  int64
	Len  int
	Err  error // why the file cannot be read, beside StatusFileError

	// Check, unless it is nil, is given the bytes that were read, piece by piece, with their place in the file, before the descriptor
	// is done. With its error the file cannot be read.
	Check func(b []byte, off int64) error
}

// Fill reads the bytes of the range from its at-th on into b. 0 ≤ at ≤ Len - len(b).
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

// Checked checks bytes that were read from the range's at-th on.
func (r *FileRange) Checked(b []byte, at int) error {
	if r.Check == nil || len(b) == 0 {
		return nil
	}
	return r.Check(b, r.Off+int64(at))
}

// Size is how many bytes a descriptor has to move: those of its segments, or of its file.
func (d *Descriptor) Size() int {
	n := d.File.Len
	for i := range d.Segments {
		n += len(d.Segments[i].Data)
	}
	return n
}
