package client

import (
	"context"
	"slices"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Truncate sets the length of a file. Bytes beyond size are removed; added bytes read as zeros.
func (f *FS) Truncate(ctx context.Context, name string, size int64) error {
	return pathError("truncate", name, f.onNode(ctx, name, follows, func(p *place) error {
		if p.typ == proto.TypeDirectory {
			return proto.EISDIR
		}
		if err := f.may(ctx, p.node, proto.MayWrite); err != nil {
			return err
		}
		return f.truncate(ctx, p.node, size)
	}))
}

// truncate cuts all datafiles of a file.
func (f *FS) truncate(ctx context.Context, n *inode, size int64) error {
	if size < 0 {
		return proto.EINVAL
	}
	l, err := f.layout(ctx, n)
	if err == nil && l.stuffed {
		// Another client may have unstuffed it.
		n.changed()
		l, err = f.layout(ctx, n)
	}
	if err == nil && l.stuffed && size > l.place.StripSize() {
		l, err = f.unstuff(ctx, n)
	}
	if err != nil {
		return err
	}
	err = f.shown(ctx, n, proto.MayWrite, func(h *proto.Header) error {
		return all(len(l.datafiles), func(i int) error {
			cut := l.place.Cut(size, i, len(l.datafiles))
			req := &proto.TruncateReq{Handle: l.datafiles[i], FS: f.cfg.ID, Size: cut}
			return f.call(ctx, l.datafiles[i], h, req, &proto.TruncateResp{})
		})
	})
	n.resized()
	if err != nil {
		return err
	}
	return f.modified(ctx, n)
}

// Sync makes the servers put the bytes and attributes of the object at name on their disks.
func (f *FS) Sync(ctx context.Context, name string) error {
	return pathError("sync", name, f.onNode(ctx, name, follows, func(p *place) error {
		return f.flush(ctx, p.node)
	}))
}

// flush asks the servers of an object and of its datafiles to flush it.
func (f *FS) flush(ctx context.Context, n *inode) error {
	a, err := f.attrs(ctx, n)
	if err != nil {
		return err
	}
	handles := slices.Concat([]proto.Handle{n.handle}, a.Datafiles, a.DistDir.Dirdata)
	return f.shown(ctx, n, 0, func(h *proto.Header) error {
		return all(len(handles), func(i int) error {
			return f.call(ctx, handles[i], h, &proto.FlushReq{Handle: handles[i], FS: f.cfg.ID}, &proto.FlushResp{})
		})
	})
}
