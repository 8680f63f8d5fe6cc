package client

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Mkdir makes a directory.
func (f *FS) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	return pathError("mkdir", name, f.onNew(ctx, name, func(p *place) error {
		_, err := f.mkdir(ctx, p.dir(), p.name, perm)
		return err
	}))
}

// MkdirAll makes a directory and its missing parents.
func (f *FS) MkdirAll(ctx context.Context, name string, perm fs.FileMode) error {
	path := ""
	if strings.HasPrefix(name, "/") {
		path = "/"
	}
	if name == "" {
		return pathError("mkdir", name, proto.ENOENT)
	}
	for _, part := range parts(name) {
		path += part
		err := f.onPath(ctx, path, follows, func(p *place) error {
			switch {
			case p.node == nil:
				_, err := f.mkdir(ctx, p.dir(), p.name, perm)
				if status(err) == proto.EEXIST {
					err = nil // another process made it first; the next part shows what it is
				}
				return err
			case p.typ != proto.TypeDirectory:
				return proto.ENOTDIR
			}
			return nil
		})
		if err != nil {
			return pathError("mkdir", path, err)
		}
		path += "/"
	}
	return nil
}

// inherited is the group of a new object in a directory, and the mode bits that new directories take from it.
func (f *FS) inherited(dir *proto.Attr) (group, perms uint32) {
	if dir.Perms&permSetGID != 0 && f.user.in(dir.Group) {
		return dir.Group, permSetGID
	}
	return f.user.group(), 0
}

// making is the header for a request that makes an object in a directory.
func (f *FS) making(h *proto.Header, group uint32) *proto.Header {
	if group == f.user.group() {
		return h
	}
	return &proto.Header{Capability: h.Capability, Hints: append(h.Hints, proto.Hint{Type: proto.HintOwnerGID, Value: uint64(group)})}
}

// commonAttr are the attributes of a new object. The server sets the times.
func (f *FS) commonAttr(typ proto.ObjType, group, perms uint32, mask proto.AttrMask) proto.Attr {
	return proto.Attr{Owner: f.user.owner(), Group: group, Perms: perms, Mask: mask, Type: typ}
}

// mkdir makes a directory and its entry.
func (f *FS) mkdir(ctx context.Context, dir *inode, name string, perm fs.FileMode) (proto.Handle, error) {
	server := f.pick(f.meta)
	var made proto.Handle
	err := f.shown(ctx, dir, proto.MayCreate, func(h *proto.Header) error {
		parent, err := f.directory(ctx, dir)
		if err != nil {
			return err
		}
		group, also := f.inherited(&parent)
		req := &proto.MkdirReq{
			FS: f.cfg.ID, Cred: f.cred(), Extents: f.cfg.Servers[server].Meta,
			Attr:   f.commonAttr(proto.TypeDirectory, group, permsOf(perm)|also, proto.AttrMkdir),
			Layout: proto.Layout{Algorithm: proto.LayoutRoundRobin},
		}
		req.Attr.Hint = parent.Hint
		var resp proto.MkdirResp
		_, err = f.exchange(ctx, server, f.making(h, group), req, &resp)
		made = resp.Handle
		return err
	})
	if err != nil {
		return 0, err
	}
	return made, f.name(ctx, dir, name, made, nil)
}

// name makes the entry of a new object. If that is refused, it removes the object.
func (f *FS) name(ctx context.Context, dir *inode, name string, h proto.Handle, datafiles []proto.Handle) error {
	err := f.crdirent(ctx, dir, name, h)
	if err != nil && !unsure(err) {
		if undo := f.destroy(context.WithoutCancel(ctx), f.rightOf(ctx, dir), h, datafiles); undo != nil {
			f.opt.Log.Warn("pvfs: an object without a name is left over", "handle", uint64(h), "error", undo)
		}
	}
	return err
}

// Symlink makes a symlink to target.
func (f *FS) Symlink(ctx context.Context, target, name string) error {
	return linkError("symlink", target, name, f.onNew(ctx, name, func(p *place) error {
		switch {
		case target == "", p.must:
			return proto.ENOENT
		case len(target) >= proto.MaxPath:
			return proto.ENAMETOOLONG
		case strings.IndexByte(target, 0) >= 0:
			return proto.EINVAL
		}
		return f.symlink(ctx, p.dir(), p.name, target)
	}))
}

// symlink makes the object, sets its target, and makes its entry.
func (f *FS) symlink(ctx context.Context, dir *inode, name, target string) error {
	server := f.pick(f.meta)
	var made proto.Handle
	var group uint32
	err := f.shown(ctx, dir, proto.MayCreate, func(h *proto.Header) error {
		parent, err := f.directory(ctx, dir)
		if err != nil {
			return err
		}
		group, _ = f.inherited(&parent)
		var resp proto.BatchCreateResp
		req := &proto.BatchCreateReq{FS: f.cfg.ID, Type: proto.TypeSymlink, Count: 1, Extents: f.cfg.Servers[server].Meta}
		if _, err = f.exchange(ctx, server, h, req, &resp); err != nil {
			return err
		}
		if len(resp.Handles) != 1 {
			return proto.EPROTO
		}
		made = resp.Handles[0]
		return nil
	})
	if err != nil {
		return err
	}
	err = f.describe(ctx, made, group, target)
	if err == nil && len(target) > targetSureMax {
		err = f.leads(ctx, made, target)
	}
	if err != nil {
		if !unsure(err) {
			_ = f.destroy(context.WithoutCancel(ctx), f.rightOf(ctx, dir), made, nil) // it has no name, so it does no harm
		}
		return err
	}
	return f.name(ctx, dir, name, made, nil)
}

// describe sends the target of a new symlink to its server.
func (f *FS) describe(ctx context.Context, link proto.Handle, group uint32, target string) error {
	var got proto.GetAttrResp
	ask := &proto.GetAttrReq{Handle: link, FS: f.cfg.ID, Mask: proto.AttrCommon | proto.AttrCapability, Cred: f.cred()}
	if err := f.call(ctx, link, nil, ask, &got); err != nil {
		return err
	}
	now := f.opt.Clock().Unix()
	a := f.commonAttr(proto.TypeSymlink, group, 0o777, proto.AttrCommon|proto.AttrTarget)
	a.Target, a.ATime, a.MTime, a.CTime = target, now, now, now
	req := &proto.SetAttrReq{Handle: link, FS: f.cfg.ID, Attr: a, Cred: f.cred()}
	return f.call(ctx, link, &proto.Header{Capability: got.Attr.Capability}, req, &proto.SetAttrResp{})
}

// targetSureMax is the longest target that every server stores. Stock servers accept longer ones, but return the first 256 bytes
// and then unrelated bytes of their memory.
const targetSureMax = 255

// leads checks that a symlink has the right target: ENAMETOOLONG.
func (f *FS) leads(ctx context.Context, link proto.Handle, target string) error {
	var got proto.GetAttrResp
	ask := &proto.GetAttrReq{Handle: link, FS: f.cfg.ID, Mask: proto.AttrCommon | proto.AttrTarget, Cred: f.cred()}
	err := f.call(ctx, link, nil, ask, &got)
	if errors.Is(err, rpc.ErrBadAnswer) || err == nil && got.Attr.Target != target {
		return proto.ENAMETOOLONG
	}
	return err
}

// create makes a file and its entry. The inode has a reference.
func (f *FS) create(ctx context.Context, dir *inode, name string, perm fs.FileMode, how Striping) (*inode, error) {
	server := f.pick(f.meta)
	var resp proto.CreateResp
	var attr proto.Attr
	err := f.shown(ctx, dir, proto.MayCreate, func(h *proto.Header) error {
		parent, err := f.directory(ctx, dir)
		if err != nil {
			return err
		}
		s, err := f.striping(how, &parent.Hint)
		if err != nil {
			return err
		}
		group, _ := f.inherited(&parent)
		attr = f.commonAttr(proto.TypeMetafile, group, permsOf(perm), proto.AttrCreate)
		attr.Dist = s.Dist
		req := &proto.CreateReq{FS: f.cfg.ID, Cred: f.cred(), Attr: attr, Datafiles: int32(s.Datafiles), Layout: s.Layout}
		resp = proto.CreateResp{}
		h = f.making(h, group)
		h.Hints = append(h.Hints, proto.GivesHint())
		_, err = f.exchange(ctx, server, h, req, &resp)
		return err
	})
	if err != nil {
		return nil, err
	}
	n := f.table.get(resp.Handle)
	f.learnCreated(n, &attr, &resp)
	if err := f.name(ctx, dir, name, resp.Handle, resp.Attr.Datafiles); err != nil {
		n.changed()
		f.put(n)
		return nil, err
	}
	return n, nil
}

// learnCreated caches the attributes of a new file, except its times, and its owner if the server decides on that.
func (f *FS) learnCreated(n *inode, asked *proto.Attr, resp *proto.CreateResp) {
	a := resp.Attr
	if a.Mask&proto.AttrDatafiles == 0 || len(a.Datafiles) == 0 {
		return
	}
	a.Type, a.StuffedSize = proto.TypeMetafile, 0
	a.Mask |= proto.AttrCommon | proto.AttrDist
	if resp.Attr.Mask&proto.AttrDist == 0 {
		a.Dist = asked.Dist
	}
	a.Mask &^= proto.AttrUnstuffed
	if !resp.Stuffed {
		a.Mask |= proto.AttrUnstuffed
	}
	now := f.opt.Clock()
	n.changed() // a handle may be used again
	epoch := n.mark()
	n.learn(f.user, &a, now, epoch)
	n.learnSize(0, now, epoch)
	n.touched()
}
