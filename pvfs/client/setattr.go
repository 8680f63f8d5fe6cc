package client

import (
	"context"
	"io/fs"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Chmod sets the permissions of the object at name. It uses the same bits of mode as Mkdir.
func (f *FS) Chmod(ctx context.Context, name string, mode fs.FileMode) error {
	return f.setPath(ctx, "chmod", name, follows, chmodAttr(mode))
}

func chmodAttr(mode fs.FileMode) proto.Attr {
	return proto.Attr{Perms: permsOf(mode), Mask: proto.AttrPerm | proto.AttrCTime}
}

// Chown sets the owner and the group of the object at name; -1 leaves one unchanged.
func (f *FS) Chown(ctx context.Context, name string, uid, gid int) error {
	return f.setPath(ctx, "chown", name, follows, chownAttr(uid, gid))
}

// Lchown is Chown for a symlink itself.
func (f *FS) Lchown(ctx context.Context, name string, uid, gid int) error {
	return f.setPath(ctx, "lchown", name, noFollow, chownAttr(uid, gid))
}

func chownAttr(uid, gid int) proto.Attr {
	a := proto.Attr{Mask: proto.AttrCTime}
	if uid >= 0 {
		a.Owner, a.Mask = uint32(uid), a.Mask|proto.AttrUID
	}
	if gid >= 0 {
		a.Group, a.Mask = uint32(gid), a.Mask|proto.AttrGID
	}
	return a
}

// Chtimes sets the access and modification times of the object at name, in whole seconds. A zero time leaves one unchanged.
func (f *FS) Chtimes(ctx context.Context, name string, atime, mtime time.Time) error {
	return f.setPath(ctx, "chtimes", name, follows, chtimesAttr(atime, mtime))
}

// Lchtimes is Chtimes for a symlink itself.
func (f *FS) Lchtimes(ctx context.Context, name string, atime, mtime time.Time) error {
	return f.setPath(ctx, "lchtimes", name, noFollow, chtimesAttr(atime, mtime))
}

func chtimesAttr(atime, mtime time.Time) proto.Attr {
	a := proto.Attr{Mask: proto.AttrCTime}
	if !atime.IsZero() {
		a.ATime, a.Mask = atime.Unix(), a.Mask|proto.AttrATime|proto.AttrATimeSet
	}
	if !mtime.IsZero() {
		a.MTime, a.Mask = mtime.Unix(), a.Mask|proto.AttrMTime|proto.AttrMTimeSet
	}
	return a
}

func (f *FS) setPath(ctx context.Context, op, name string, how manner, a proto.Attr) error {
	return pathError(op, name, f.onNode(ctx, name, how, func(p *place) error {
		return f.setAttr(ctx, p.node, a)
	}))
}

// setAttr sets the attributes in the mask of a; the server sets AttrCTime to its own time. It checks the right first, because
// stock servers let every user change an object that belongs to root and has no datafiles.
func (f *FS) setAttr(ctx context.Context, n *inode, a proto.Attr) error {
	need := proto.OpMask(0)
	if a.Mask&(proto.AttrUID|proto.AttrGID|proto.AttrPerm|proto.AttrATimeSet) != 0 {
		need = proto.MaySetAttr
	}
	return f.setAttrFor(ctx, n, a, need)
}

// setAttrFor is setAttr for a change that needs certain rights to the object.
func (f *FS) setAttrFor(ctx context.Context, n *inode, a proto.Attr, need proto.OpMask) error {
	if a.Mask == proto.AttrCTime {
		return nil
	}
	if a.Mask&(proto.AttrPerm|proto.AttrUID|proto.AttrGID) != 0 {
		f.hold(ctx, n, a.Mask&proto.AttrUID != 0)
	}
	unstamped := a.Mask&proto.AttrMTime != 0 && n.setUnstamped(false)
	err := f.shown(ctx, n, need, func(h *proto.Header) error {
		req := &proto.SetAttrReq{Handle: n.handle, FS: f.cfg.ID, Attr: a, Cred: f.cred()}
		return f.call(ctx, n.handle, h, req, &proto.SetAttrResp{})
	})
	if err == nil && a.Mask&proto.AttrMTime != 0 {
		n.setMoved(false)
	}
	if err != nil && unstamped {
		n.setUnstamped(true)
	}
	if a.Mask&(proto.AttrPerm|proto.AttrUID|proto.AttrGID) == 0 {
		n.touched()
		return err
	}
	if old, ok := n.kept(f.opt.Clock(), f.opt.AttrTime, false); !ok || old.Type == proto.TypeDirectory {
		f.names.clear() // names in the directory may be forbidden now
	}
	n.changed()
	return err
}

// modified sets the mtime of a file whose data changed to the server's time.
func (f *FS) modified(ctx context.Context, n *inode) error {
	return f.setAttrFor(ctx, n, proto.Attr{Mask: proto.AttrMTime | proto.AttrCTime}, proto.MayWrite)
}
