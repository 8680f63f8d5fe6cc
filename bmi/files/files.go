// Package files has the range of a file that a message can be sent from, which an endpoint and all layers below it share.
package files

import (
	"errors"
	"io"
	"os"
)

// A Range is Len bytes of a regular file, starting at Off. The file may end within the range or before it, and may be
// truncated at any time: bytes beyond the end of the file are sent as zeros. It must stay open while the range is in use.
type Range struct {
	File *os.File
	Off  int64
	Len  int

	// Check, unless it is nil, is called with the bytes as they were read from the file, piece by piece, with their offset in
	// the file, before the message is complete at the receiver. An error from Check counts as a read error of the file. Check
	// must be quick, because the method moves nothing else meanwhile. The receiver may be able to write to the memory of b.
	Check func(b []byte, off int64) error
}

// Part is the range of n bytes that starts at byte at of the range. 0 ≤ at ≤ Len - n.
func (r Range) Part(at, n int) Range {
	r.Off, r.Len = r.Off+int64(at), n
	return r
}

// Read reads into b from byte at of the range on, and checks what it has read. n < len(b) without an error means that the file
// ends there. 0 ≤ at ≤ Len - len(b).
func (r Range) Read(b []byte, at int) (n int, err error) {
	n, err = r.File.ReadAt(b, r.Off+int64(at))
	if err == nil || errors.Is(err, io.EOF) {
		err = r.Checked(b[:n], at)
	}
	return n, err
}

// Fill is Read with zeros for the bytes beyond the end of the file. It is for methods that have no faster way.
func (r Range) Fill(b []byte, at int) error {
	n, err := r.Read(b, at)
	clear(b[n:])
	return err
}

// Checked checks bytes that were read from byte at of the range on.
func (r Range) Checked(b []byte, at int) error {
	if r.Check == nil || len(b) == 0 {
		return nil
	}
	return r.Check(b, r.Off+int64(at))
}
