package rpc

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A Source is the bytes of a flow that a server sends. It is asked for all of them, in order
// and once, piece by piece; at is the place of a piece in the flow.
type Source interface {
	// Fill puts the next len(b) bytes into b.
	Fill(b []byte, at int64) error
	// Range says where the next n bytes are, if they are in one file, in one piece, and in
	// memory: sends of files are not to wait for disks. Otherwise the answer is false, and
	// Fill is asked for them. The file stays open until SendFlow returns.
	Range(n int, at int64) (bmi.FileRange, bool)
}

// SourceFunc is the Fill of a Source that has no files.
type SourceFunc func(b []byte, at int64) error

// Fill implements Source.
func (f SourceFunc) Fill(b []byte, at int64) error { return f(b, at) }

// Range implements Source.
func (SourceFunc) Range(int, int64) (bmi.FileRange, bool) { return bmi.FileRange{}, false }

// SendFlow answers an IO request with resp and sends total bytes of source. Those that are in a
// file go out from there where the method can, without a buffer. It reads the first piece before
// it answers: if source fails there nothing was answered yet, and Fail may be used. It returns
// when all is sent.
func (c *Call) SendFlow(resp *proto.IOResp, total int64, source Source) (int64, error) {
	f, err := c.stream(total)
	if err != nil {
		return 0, err
	}
	defer f.end()
	f.sends = true
	f.files, _ = c.worker.s.ep.FileSends(c.Peer)
	ready, err := f.prepare(source)
	if err != nil {
		return 0, err
	}
	c.greet(resp)
	var failed error
	for f.done < f.count && failed == nil {
		for ready {
			if err := f.send(f.length(f.next)); err != nil {
				return 0, f.broken(err)
			}
			ready, failed = f.prepare(source)
		}
		if err := f.sent(); err != nil {
			return 0, f.broken(err)
		}
		if failed == nil {
			ready, failed = f.prepare(source)
		}
	}
	if failed != nil {
		return f.done * f.size, f.breakOff(failed)
	}
	c.worker.s.count.bytesOut.Add(uint64(total))
	c.state = callAnswered
	return total, nil
}

// prepare finds or reads the next message. It is false if there is none, or no room before one
// of those under way was sent.
func (f *stream) prepare(source Source) (bool, error) {
	if f.next == f.count || f.next-f.done == int64(len(f.slots)) {
		return false, nil
	}
	sl, n, at := f.slot(f.next), f.length(f.next), f.next*f.size
	sl.part = bmi.FileRange{}
	if f.files {
		err := f.safely(func() (err error) {
			if part, ok := source.Range(n, at); ok {
				sl.part = part
			}
			return nil
		})
		if err != nil || sl.part.File != nil {
			return err == nil, err
		}
	}
	if !f.buffer(sl) {
		return false, nil
	}
	err := f.safely(func() error { return source.Fill(sl.buf[:n], at) })
	return err == nil, err
}

// send posts the next message: n bytes of its file, or of its buffer.
func (f *stream) send(n int) (err error) {
	sl := f.slot(f.next)
	if sl.part.File != nil {
		err = f.pump.sendFile(&sl.op, f.c.Peer, f.c.Tag, sl.part)
	} else {
		err = f.pump.send(&sl.op, f.c.Peer, f.c.Tag, sl.buf[:n])
	}
	if err == nil {
		f.next++
	}
	return err
}

// sent takes what was sent. It waits for the oldest message, and for all if everything is
// posted.
func (f *stream) sent() error {
	for first := true; f.done < f.next; first = false {
		sl := f.slot(f.done)
		if sl.pending && !first && f.next < f.count {
			return nil
		}
		if err := f.wait(sl); err != nil {
			return err
		}
		f.done++
		f.c.worker.moved.Store(min(f.done*f.size, f.total))
	}
	return nil
}

// breakOff tells the client that there will be no more, with an empty message.
func (f *stream) breakOff(cause error) error {
	f.slot(f.next).part = bmi.FileRange{}
	err := f.send(0)
	for err == nil && f.done < f.next {
		err = f.wait(f.slot(f.done))
		f.done++
	}
	return f.broken(errors.Join(cause, err))
}
