package ops

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pieces"
	"github.com/viaduct-hpc/viaduct/internal/via/link"
)

func fromFile(op *bmi.Op) bool { return op.File.File != nil }

// load adds the bytes [off, off+n) of a send to a packet: see link.Links.Gather. An error is the file's.
func (o *Ops) load(p *link.Packet, op *bmi.Op, off, n int) (lent bool, err error) {
	if !fromFile(op) {
		return o.links.Gather(p, op.Bufs, off, n), nil
	}
	return false, p.Fill(n, func(b []byte) error { return op.File.Fill(b, off) })
}

// packetFailed ends the connection because a packet of an operation failed.
func packetFailed(s *opState, err error) {
	var file *link.FileError
	if errors.As(err, &file) {
		fileFailed(s, file.Err)
	} else {
		s.r.Link.Break(err)
	}
}

// fileFailed ends the connection because a file cannot be read. The receiver may have the
// beginning of the message, and must not take anything else for the rest.
func fileFailed(s *opState, err error) {
	if s.phase != phaseEnding {
		s.err = unreadable(s.r, err)
	}
	s.r.Link.Break(fmt.Errorf("a file to send from: %w", err))
}

func unreadable(r *Peer, err error) error {
	return fmt.Errorf("%w: %v: the connection ended, since the file to send from cannot be read: %w", bmi.ErrPeerFailed, r, err)
}

// copyMessage copies the message of one operation of this endpoint into the memory of another that is
// at least as long.
func copyMessage(to [][]byte, from *bmi.Op) error {
	if !fromFile(from) {
		var at pieces.Cursor
		for _, b := range from.Bufs {
			at.Scatter(to, b)
		}
		return nil
	}
	off := 0
	for _, b := range to {
		b = b[:min(len(b), from.Size-off)]
		if err := from.File.Fill(b, off); err != nil {
			return err
		}
		off += len(b)
	}
	return nil
}
