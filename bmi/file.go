package bmi

import (
	"fmt"
	"math"

	"github.com/viaduct-hpc/viaduct/bmi/files"
)

// A FileRange is a part of a regular file.
type FileRange = files.Range

// PostSendFile is PostSend of bytes that the method reads from a file itself, without a buffer in between. If the method cannot
// do this (see Info.FileSends), PostSendFile returns ErrNotSupported.
//
// The bytes are read at any time until the operation completes, and the file must stay open until then. It may be written to
// and truncated meanwhile: the message keeps its length, and bytes that are missing when their turn comes are sent as zeros.
// Since the network may still refer to the file's pages, the receiver may even see writes to the file from shortly after the
// completion.
//
// If the file cannot be read, the connection ends and the operation fails with ErrPeerFailed and the cause. The connection must
// end because the receiver may already have the beginning of the message and must not take other bytes for the rest.
func (c *Context) PostSendFile(to Addr, tag Tag, part FileRange, user any) (Posted, error) {
	in, err := c.ep.check(to)
	if err != nil {
		return Posted{}, err
	}
	if in.files == nil {
		return Posted{}, fmt.Errorf("%w: %s takes no bytes from files, read them and use PostSend", ErrNotSupported, in.info.Name)
	}
	if err := checkRange(part); err != nil {
		return Posted{}, err
	}
	if err := in.fits(KindSend, 0, part.Len); err != nil {
		return Posted{}, err
	}
	if part.Len == 0 {
		return c.postOne(KindSend, 0, to, tag, nil, user, nil)
	}
	in.Lock()
	op, err := in.acquireLocked(c, to)
	if err != nil {
		in.unlock()
		return Posted{}, err
	}
	op.Kind, op.Class, op.Tag, op.Peer = KindSend, 0, tag, to.e.peer
	op.File, op.Size = part, part.Len
	op.user = user
	if in.trace != nil {
		in.trace.posting(op, to)
	}
	in.files.PostSendFile(op)
	posted := op.postedLocked(nil)
	in.unlock()
	return posted, nil
}

// FileSends reports whether PostSendFile can be used with an address.
func (e *Endpoint) FileSends(a Addr) (bool, error) {
	in, err := e.check(a)
	if err != nil {
		return false, err
	}
	return in.files != nil, nil
}

// checkRange reports what is wrong with a range.
func checkRange(r FileRange) error {
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
