package bmi

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// A FileRange is a run of bytes of a regular file: Len of them, from Off on. The file may
// end within it, or before it: what lies beyond the file's end is zeros.
type FileRange struct {
	File *os.File
	Off  int64
	Len  int

	// Check, unless it is nil, is given the bytes as they were read from the file, piece by piece, with their place in the file, before
	// the message is complete at the receiver. With its error the file cannot be read. It must be quick: nothing moves meanwhile. The bytes may be in memory that the receiver
	// can write.
	Check func(b []byte, off int64) error
}

// PostSendFile is PostSend of bytes that the method takes from a file by itself, without a
// buffer in between, if it can (Info.FileSends); if it cannot, the error is ErrNotSupported.
//
// The bytes are taken at any time until the operation completes, and the file must stay open
// until then. It may be written to and cut off meanwhile: the message keeps its length, and
// what the file does not have when its turn comes is zeros. The receiver may even see what is
// written to the file shortly after the completion, since the network may still refer to the
// file's pages then.
//
// When the file cannot be read, the connection ends and the operation fails with
// ErrPeerFailed and the cause: the beginning of the message may be with the receiver, who
// must not take anything else for the rest.
func (c *Context) PostSendFile(to Addr, tag Tag, part FileRange, user any) (Posted, error) {
	in, err := c.ep.check(to)
	if err != nil {
		return Posted{}, err
	}
	if in.files == nil {
		return Posted{}, fmt.Errorf("%w: %s takes no bytes from files, read them and use PostSend", ErrNotSupported, in.info.Name)
	}
	if err := part.check(); err != nil {
		return Posted{}, err
	}
	if err := in.fits(KindSend, 0, part.Len); err != nil {
		return Posted{}, err
	}
	if part.Len == 0 {
		return c.postOne(KindSend, 0, to, tag, nil, user, nil)
	}
	in.lock()
	op, err := in.acquireLocked(c, to)
	if err != nil {
		in.unlock()
		return Posted{}, err
	}
	op.Kind, op.Class, op.Tag, op.Peer = KindSend, 0, tag, to.e.peer
	op.File, op.Size = part, part.Len
	op.user = user
	in.files.PostSendFile(op)
	posted := op.postedLocked(nil)
	in.unlock()
	return posted, nil
}

// FileSends tells whether PostSendFile can be used with an address.
func (e *Endpoint) FileSends(a Addr) (bool, error) {
	in, err := e.check(a)
	if err != nil {
		return false, err
	}
	return in.files != nil, nil
}

// check tells what is wrong with a range.
func (r FileRange) check() error {
	switch {
	case r.File == nil:
		return fmt.Errorf("%w: a range of no file", ErrInvalid)
	case r.Off < 0 || r.Len < 0 || r.Off > math.MaxInt64-int64(r.Len):
		return fmt.Errorf("%w: %d bytes at offset %d of %s, no file has such a range", ErrInvalid, r.Len, r.Off, r.File.Name())
	}
	st, err := r.File.Stat()
	if err != nil {
		return fmt.Errorf("%w: %w, keep the file open until the operation completed", ErrInvalid, err)
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is no regular file, read it and use PostSend", ErrInvalid, r.File.Name())
	}
	return nil
}

// Fill reads bytes of the range, from its at-th on, into b; what lies beyond the file's end
// is zeros. It is for methods that have nothing better. 0 ≤ at ≤ Len - len(b).
func (r FileRange) Fill(b []byte, at int) error {
	n, err := r.File.ReadAt(b, r.Off+int64(at))
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil && n > 0 && r.Check != nil {
		err = r.Check(b[:n], r.Off+int64(at))
	}
	clear(b[n:])
	return err
}
