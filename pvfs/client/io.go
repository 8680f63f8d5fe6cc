package client

import (
	"context"
	"math"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/datatype"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A transfer is one I/O on a file: the bytes of a file request, and their memory. The regions of the request ascend.
type transfer struct {
	fs   *FS
	node *inode
	typ  proto.IOType
	req  proto.FileRequest
	off  int64 // in the request; for a byte stream, in the file
	mem  memory

	layout
	op     datatype.Op
	shares []int64 // bytes by datafile
	sizes  []int64 // of the datafiles, -1 if not known
	moved  []int64 // bytes read, by datafile
}

// end is the offset in the file where the last region of the transfer ends.
func (t *transfer) end() int64 {
	if datatype.IsBytes(t.req) {
		return t.off + t.mem.size
	}
	end := int64(0)
	for r := range datatype.Regions(t.req, t.off, t.mem.size) {
		end = max(end, r.Off+r.Len)
	}
	return end
}

// plan computes each datafile's share of the bytes, for a layout.
func (t *transfer) plan(l layout) {
	n := len(l.datafiles)
	t.layout = l
	t.op = datatype.Op{Map: l.place, N: n, Request: t.req, FileOffset: t.off, Aggregate: t.mem.size}
	t.shares = t.op.Shares()
	t.sizes, t.moved = make([]int64, n), make([]int64, n)
	for i := range t.sizes {
		t.sizes[i] = -1
	}
}

// small reports whether all bytes fit into small requests or responses.
func (t *transfer) small(h *proto.Header) bool {
	most := int64(proto.MaxSmallRead)
	if t.typ == proto.IOWrite {
		most = smallWriteMax(h, &t.dist, len(t.req))
	}
	for _, n := range t.shares {
		if n > most {
			return false
		}
	}
	return true
}

// write moves all bytes to the datafiles.
func (t *transfer) write(ctx context.Context) error {
	end := t.end()
	l, err := t.fs.layout(ctx, t.node)
	if err == nil && l.stuffed && end > l.place.StripSize() {
		l, err = t.fs.unstuff(ctx, t.node)
	}
	if err != nil {
		return err
	}
	t.plan(l)
	err = t.fs.shown(ctx, t.node, proto.MayWrite, func(h *proto.Header) error { return t.run(ctx, h) })
	t.node.resized()
	return err
}

// read moves the stored bytes, and fills holes with zeros. n is how many bytes of the memory lie before the end of the file.
func (t *transfer) read(ctx context.Context) (n int64, err error) {
	l, err := t.fs.layout(ctx, t.node)
	if err == nil && l.stuffed && t.end() > l.place.StripSize() {
		l, err = t.stillStuffed(ctx)
	}
	if err != nil || t.mem.size == 0 {
		return 0, err
	}
	t.plan(l)
	err = t.fs.shown(ctx, t.node, proto.MayRead, func(h *proto.Header) error { return t.run(ctx, h) })
	if err != nil {
		return 0, err
	}
	for i, want := range t.shares {
		if t.moved[i] < want {
			return t.short(ctx)
		}
	}
	return t.mem.size, nil
}

// stillStuffed requests the layout of a stuffed file again, because another client may have unstuffed it. If the file is still
// stuffed, its size is known now and the transfer ends there.
func (t *transfer) stillStuffed(ctx context.Context) (layout, error) {
	a, err := t.fs.fetch(ctx, t.node)
	if err != nil {
		return layout{}, err
	}
	l, err := layoutOf(t.node, &a)
	if err == nil && l.stuffed && l.place.StripSize() <= math.MaxInt32 && datatype.IsBytes(t.req) {
		t.mem = t.mem.sub(0, t.below(int64(a.StuffedSize)))
	}
	return l, err
}

// run moves the bytes of all datafiles that have a share, several at once.
func (t *transfer) run(ctx context.Context, h *proto.Header) error {
	move := t.flow
	if t.small(h) {
		move = t.little
	}
	part := func(i int) error { return t.fs.located(ctx, h, t.datafiles[i], move(ctx, h, i)) }
	if len(t.shares) == 1 {
		return part(0)
	}
	var with []int
	for i, n := range t.shares {
		if n > 0 {
			with = append(with, i)
		}
	}
	return parallel(len(with), flowsMax, func(i int) error { return part(with[i]) })
}

// short finds the end of the file after a read that found fewer bytes than requested.
func (t *transfer) short(ctx context.Context) (n int64, err error) {
	size, err := t.size(ctx)
	if err != nil {
		return 0, err
	}
	if n, err = t.below(size), nil; n == 0 {
		return 0, nil
	}
	for i, want := range t.shares {
		if t.moved[i] < want {
			t.zero(i, t.moved[i], n)
		}
	}
	return n, nil
}

// size is the file's size. If it is not known exactly, it is at least the end of the transfer.
func (t *transfer) size(ctx context.Context) (int64, error) {
	known, all := make([]int64, len(t.sizes)), true
	for i, s := range t.sizes {
		known[i] = max(s, 0)
		all = all && s >= 0
	}
	size := t.place.Size(known)
	if all || size >= t.end() {
		return size, nil
	}
	now, err := t.fs.datafileSizes(ctx, t.datafiles)
	if err != nil {
		return 0, err
	}
	for i, s := range now {
		// Bytes that were read existed, even if the file was truncated since.
		known[i] = max(known[i], s)
	}
	return t.place.Size(known), nil
}

// below is how many bytes of the transfer come before the first one that is at or beyond size in the file.
func (t *transfer) below(size int64) int64 {
	if datatype.IsBytes(t.req) {
		return min(max(size-t.off, 0), t.mem.size)
	}
	n := int64(0)
	for r := range datatype.Regions(t.req, t.off, t.mem.size) {
		in := min(max(size-r.Off, 0), r.Len)
		n += in
		if in < r.Len {
			break
		}
	}
	return n
}

// zero clears memory of a datafile's share: from its byte number from on, and only memory below offset top.
func (t *transfer) zero(datafile int, from, top int64) {
	for p := range t.op.Pieces(datafile) {
		skip := min(from, p.Len)
		from -= skip
		start, end := p.Mem+skip, min(p.Mem+p.Len, top)
		if start < end {
			for b := range t.mem.parts(start, end-start) {
				clear(b)
			}
		}
	}
}

// endOf is the end of n bytes from off on, or an error if no file is that long.
func endOf(off, n int64) error {
	switch {
	case off < 0:
		return proto.EINVAL
	case n > math.MaxInt64-off:
		return proto.EFBIG
	}
	return nil
}
