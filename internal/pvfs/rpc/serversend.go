package rpc

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A Source supplies the bytes of a flow that a server sends. The server requests each of them once, in order, piece by piece;
// at is the offset of a piece in the flow.
type Source interface {
	// Fill puts the next len(b) bytes into b.
	Fill(b []byte, at int64) error
	// Range returns the file and offset of the next n bytes, if they are contiguous in one file and in memory, because sends from
	// files must not wait for disks. Otherwise it returns false, and Fill is called for them. The file stays open until SendFlow
	// returns.
	Range(n int, at int64) (bmi.FileRange, bool)
}

// SourceFunc is a Source without files: its Fill.
type SourceFunc func(b []byte, at int64) error

// Fill implements Source.
func (f SourceFunc) Fill(b []byte, at int64) error { return f(b, at) }

// Range implements Source.
func (SourceFunc) Range(int, int64) (bmi.FileRange, bool) { return bmi.FileRange{}, false }

// SendFlow answers an IO request with resp and sends total bytes of source. Bytes in a file are sent from the file where the
// method supports that, without a buffer. SendFlow reads the first piece before it answers: if source fails there, nothing was
// answered yet, and Fail may be used. It returns when everything is sent.
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

// prepare finds or reads the next message. It returns false if there is none, or if no slot or buffer is free.
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

// sent waits for the oldest message, or for all if everything is posted.
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

// breakOff tells the client with an empty message that no more data will come.
func (f *stream) breakOff(cause error) error {
	f.slot(f.next).part = bmi.FileRange{}
	err := f.send(0)
	for err == nil && f.done < f.next {
		err = f.wait(f.slot(f.done))
		f.done++
	}
	return f.broken(errors.Join(cause, err))
}
