package server

import (
	"cmp"
	"fmt"
	"iter"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/datatype"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// run is a contiguous run of bytes of a datafile. Runs are in the order of the wire.
type run struct{ phys, len int64 }

// transfer is one I/O on one datafile, by IO or SMALL_IO.
type transfer struct {
	op       datatype.Op
	datafile int
	turn     *turn
}

// transferOf checks the fields of a request, all of which may be hostile.
func transferOf(turn *turn, d proto.Dist, nr, ct uint32, req proto.FileRequest, offset, aggregate int64) (transfer, error) {
	if ct == 0 || ct > proto.MaxDatafiles || nr >= ct {
		return transfer{}, fmt.Errorf("internal/pvfs/server: datafile %d of %d: %w", nr, ct, proto.EINVAL)
	}
	m, err := stripe.Of(d)
	if err == nil {
		err = m.Check(int(ct))
	}
	if err == nil {
		err = datatype.CheckIO(req, offset, aggregate)
	}
	if err != nil {
		return transfer{}, fmt.Errorf("internal/pvfs/server: %w: %w", err, proto.EINVAL)
	}
	op := datatype.Op{Map: m, N: int(ct), Request: req, FileOffset: offset, Aggregate: aggregate}
	return transfer{op: op, datafile: int(nr), turn: turn}, nil
}

// runs are the byte ranges of the transfer in the datafile. Bytes that are contiguous in the file are contiguous in each of its
// datafiles, so this works on regions and not on strips. It stops early if the turn ended.
func (t transfer) runs() iter.Seq[run] {
	return func(yield func(run) bool) {
		m, n := t.op.Map, t.op.N
		var last run
		for r := range datatype.PacedRegions(t.op.Request, t.op.FileOffset, t.op.Aggregate, t.turn.walked) {
			from := m.Cut(r.Off, t.datafile, n)
			next := run{from, m.Cut(r.Off+r.Len, t.datafile, n) - from}
			switch {
			case next.len == 0:
			case last.len > 0 && last.phys+last.len == next.phys:
				last.len += next.len
			case last.len > 0 && !yield(last):
				return
			default:
				last = next
			}
		}
		if last.len > 0 {
			yield(last)
		}
	}
}

// bytes returns the total number of bytes, and how many of them a read moves from a datafile of this size. A read ends at the
// first byte beyond the size.
func (t transfer) bytes(size int64) (all, stored int64, err error) {
	defer t.turn.leave()
	ended := false
	for r := range t.runs() {
		all += r.len
		if !ended {
			in := min(max(size-r.phys, 0), r.len)
			stored += in
			ended = in < r.len
		}
	}
	return all, stored, t.turn.err
}

// each calls f for the parts of b with their offsets in the datafile. b is the first bytes of the transfer.
func (t transfer) each(b []byte, f func(part []byte, phys int64) error) error {
	defer t.turn.leave()
	for r := range t.runs() {
		n := int(min(int64(len(b)), r.len))
		if n == 0 {
			break
		}
		if err := t.turn.moved(n); err != nil {
			return err
		}
		if err := f(b[:n], r.phys); err != nil {
			return err
		}
		b = b[n:]
	}
	return t.turn.err
}

// cursor walks through the runs of a transfer as its bytes are moved.
type cursor struct {
	turn *turn
	next func() (run, bool)
	stop func()
	cur  run
	at   int64 // bytes moved so far
}

// cursor starts at the first byte. The caller calls stop on it.
func (t transfer) cursor() *cursor {
	c := &cursor{turn: t.turn}
	c.next, c.stop = iter.Pull(t.runs())
	return c
}

// piece returns the offset of the next n bytes in the datafile, if they are contiguous.
func (c *cursor) piece(n int) (phys int64, ok bool) {
	if c.cur.len == 0 {
		defer c.turn.leave()
		if c.cur, ok = c.next(); !ok {
			return 0, false
		}
	}
	return c.cur.phys, c.cur.len >= int64(n)
}

// skip advances by n bytes that piece has found contiguous.
func (c *cursor) skip(n int) {
	c.cur.phys += int64(n)
	c.cur.len -= int64(n)
	c.at += int64(n)
}

// each calls f for the parts of b with their offsets in the datafile. b is the next bytes of the transfer.
func (c *cursor) each(b []byte, f func(part []byte, phys int64) error) error {
	defer c.turn.leave()
	for len(b) > 0 {
		if c.cur.len == 0 {
			var ok bool
			if c.cur, ok = c.next(); !ok {
				return cmp.Or(c.turn.err, fmt.Errorf("internal/pvfs/server: %d bytes beyond the transfer: %w", len(b), proto.EINVAL))
			}
		}
		n := int(min(int64(len(b)), c.cur.len))
		if err := c.turn.moved(n); err != nil {
			return err
		}
		if err := f(b[:n], c.cur.phys); err != nil {
			return err
		}
		b = b[n:]
		c.skip(n)
	}
	return nil
}
