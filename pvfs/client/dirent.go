package client

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// The pause before another try after a directory's server has answered EAGAIN: the directory is being divided. The pause doubles.
const (
	dirRetryAfter = 2 * time.Millisecond
	dirRetryMax   = 500 * time.Millisecond
	dirRetriesMax = 40 // tries, at most
)

// bucket is the index of the dirdata object that has a name.
func bucket(d *proto.DistDir, name string) (int, bool) {
	if len(d.Dirdata) == 0 {
		return 0, false
	}
	sum := md5.Sum([]byte(name))
	hash := binary.LittleEndian.Uint64(sum[8:])
	for height := min(max(d.TreeHeight, 0), 31); ; height-- {
		i := int(hash & (1<<height - 1))
		if active(d, i) {
			return i, true
		}
		if height == 0 {
			return 0, false
		}
	}
}

// active reports whether a dirdata object is in use.
func active(d *proto.DistDir, i int) bool {
	word := i / 32
	return i < len(d.Dirdata) && word < len(d.Bitmap) && d.Bitmap[word]&(1<<(i%32)) != 0
}

// dirdatas are the dirdata objects in use.
func dirdatas(d *proto.DistDir) (all []proto.Handle) {
	for i, h := range d.Dirdata {
		if active(d, i) {
			all = append(all, h)
		}
	}
	return all
}

// directory returns the attributes of a directory. ENOTDIR: it is another object.
func (f *FS) directory(ctx context.Context, dir *inode) (proto.Attr, error) {
	a, err := f.attrs(ctx, dir)
	if err == nil && a.Type != proto.TypeDirectory {
		err = proto.ENOTDIR
	}
	return a, err
}

// entry runs an operation on a name in a directory. That takes the rights to write there. It finds the dirdata object that has
// the name, and tries again if the directory was divided meanwhile.
func (f *FS) entry(ctx context.Context, dir *inode, name string, do func(h *proto.Header, dirdata proto.Handle) error) error {
	wait := dirRetryAfter
	for try := 0; ; try++ {
		err := f.shown(ctx, dir, proto.MayWrite|proto.MayExec, func(h *proto.Header) error {
			a, err := f.directory(ctx, dir)
			if err != nil {
				return err
			}
			i, ok := bucket(&a.DistDir, name)
			if !ok {
				return proto.EIO
			}
			h.Hints = append(h.Hints, proto.TellsHint())
			return do(h, a.DistDir.Dirdata[i])
		})
		if status(err) != proto.EAGAIN || try >= dirRetriesMax || f.retryLimit == 0 {
			return err
		}
		dir.changed()
		if try == 0 {
			continue // the usual case: the division is over
		}
		if stop := f.pause(ctx, wait); stop != nil {
			return stop
		}
		wait = min(2*wait, dirRetryMax)
	}
}

// shows is the hint with the capability for an object that is to get a name, if it is a file of the view's user and the capability
// is known.
func (f *FS) shows(h proto.Handle) proto.Hints {
	n := f.table.peek(h)
	if n == nil {
		return nil
	}
	c, ok := n.grant(f.user, f.opt.Clock(), f.opt.AttrTime)
	if !ok || c.Mask&proto.MaySetAttr == 0 || len(c.Signature) == 0 {
		return nil
	}
	if hint, ok := proto.ShowsHint(&c); ok {
		return proto.Hints{hint}
	}
	return nil
}

// crdirent makes an entry. EEXIST: the name exists.
func (f *FS) crdirent(ctx context.Context, dir *inode, name string, h proto.Handle) error {
	err := f.entry(ctx, dir, name, func(hd *proto.Header, dirdata proto.Handle) error {
		hd.Hints = append(hd.Hints, f.shows(h)...)
		req := &proto.CrDirentReq{Cred: f.cred(), Name: name, New: h, Dir: dir.handle, Dirdata: dirdata, FS: f.cfg.ID}
		repeated, err := f.callTwice(ctx, dirdata, hd, req, &proto.CrDirentResp{})
		if repeated && status(err) == proto.EEXIST && f.leadsTo(ctx, dir, name, h) {
			return nil // the first try made it
		}
		return err
	})
	f.entryChanged(dir, name, h, err)
	return err
}

// rmdirent removes an entry and returns its object. That is 0 if it is not known, because the answer to the request that removed
// the entry was lost.
func (f *FS) rmdirent(ctx context.Context, dir *inode, name string, hints ...proto.Hint) (h proto.Handle, err error) {
	err = f.entry(ctx, dir, name, func(hd *proto.Header, dirdata proto.Handle) error {
		hd.Hints = append(hd.Hints, hints...)
		var resp proto.RmDirentResp
		req := &proto.RmDirentReq{Name: name, Dirdata: dirdata, FS: f.cfg.ID}
		repeated, err := f.callTwice(ctx, dirdata, hd, req, &resp)
		if repeated && status(err) == proto.ENOENT {
			return nil
		}
		h = resp.Handle
		return err
	})
	f.entryChanged(dir, name, 0, err)
	return h, err
}

// rmdirentOf is rmdirent for a file or symlink that the name should refer to. A server of ours removes that too; removed reports
// whether it did.
func (f *FS) rmdirentOf(ctx context.Context, dir *inode, name string, object proto.Handle) (h proto.Handle, removed bool, err error) {
	err = f.entry(ctx, dir, name, func(hd *proto.Header, dirdata proto.Handle) error {
		var resp proto.MarkedRmDirentResp
		req := &proto.RmDirentReq{Name: name, Dirdata: dirdata, FS: f.cfg.ID}
		hd.Hints = append(hd.Hints, proto.RemovesHint(object))
		repeated, err := f.callTwice(ctx, dirdata, hd, req, &resp)
		if repeated && status(err) == proto.ENOENT {
			return nil
		}
		if err == nil {
			f.heard(dirdata, resp.Mark)
			if resp.Mark == proto.MarkRemoved {
				f.heard(resp.Handle, resp.Mark) // the object's server is of the same kind
			}
		}
		h, removed = resp.Handle, resp.Mark == proto.MarkRemoved && resp.Handle == object
		return err
	})
	f.entryChanged(dir, name, 0, err)
	return h, removed, err
}

// chdirent makes an entry refer to another object and returns the previous one: 0 if that is not known.
func (f *FS) chdirent(ctx context.Context, dir *inode, name string, h proto.Handle) (old proto.Handle, err error) {
	err = f.entry(ctx, dir, name, func(hd *proto.Header, dirdata proto.Handle) error {
		hd.Hints = append(hd.Hints, f.shows(h)...)
		var resp proto.ChDirentResp
		req := &proto.ChDirentReq{Name: name, New: h, Dirdata: dirdata, FS: f.cfg.ID}
		repeated, err := f.callTwice(ctx, dirdata, hd, req, &resp)
		old = resp.Old
		if repeated && old == h {
			old = 0
		}
		return err
	})
	f.entryChanged(dir, name, h, err)
	return old, err
}

// entryChanged caches the new object of a name.
func (f *FS) entryChanged(dir *inode, name string, h proto.Handle, err error) {
	if err != nil {
		h = 0 // not known
	}
	f.names.set(f.user, dir.handle, name, h, f.opt.Clock())
	dir.touched()
	if err == nil {
		dir.setMoved(true)
	}
}

// leadsTo asks a server whether a name refers to an object.
func (f *FS) leadsTo(ctx context.Context, dir *inode, name string, h proto.Handle) bool {
	all, err := f.lookup(ctx, dir, []string{name})
	return err == nil && all[0].handle == h
}
