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
}

// Fill reads the bytes of the range from its at-th on into b. 0 ≤ at ≤ Len - len(b).
func (r *FileRange) Fill(b []byte, at int) error {
	n, err := r.File.ReadAt(b, r.Off+int64(at))
	if err != nil && !errors.Is(err, io.EOF) {
		r.Err = err
		return err
	}
	clear(b[n:])
	return nil
}

// Size is how many bytes a descriptor has to move: those of its segments, or of its file.
func (d *Descriptor) Size() int {
	n := d.File.Len
	for i := range d.Segments {
		n += len(d.Segments[i].Data)
	}
	return n
}
