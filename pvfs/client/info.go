package client

import (
	"context"
	"io/fs"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// The bits of a mode on the wire other than 0777.
const (
	permSetGID = 0o2000
	permSetUID = 0o4000
	permsAll   = 0o777 | permSetGID | permSetUID
)

// permsOf is a mode as sent on the wire. The sticky bit does not exist there.
func permsOf(m fs.FileMode) uint32 {
	perms := uint32(m.Perm())
	if m&fs.ModeSetuid != 0 {
		perms |= permSetUID
	}
	if m&fs.ModeSetgid != 0 {
		perms |= permSetGID
	}
	return perms
}

// modeOf is the mode of an object.
func modeOf(typ proto.ObjType, perms uint32) fs.FileMode {
	m := fs.FileMode(perms & 0o777)
	if perms&permSetUID != 0 {
		m |= fs.ModeSetuid
	}
	if perms&permSetGID != 0 {
		m |= fs.ModeSetgid
	}
	return m | typeOf(typ)
}

func typeOf(typ proto.ObjType) fs.FileMode {
	switch typ {
	case proto.TypeMetafile:
		return 0
	case proto.TypeDirectory:
		return fs.ModeDir
	case proto.TypeSymlink:
		return fs.ModeSymlink
	}
	return fs.ModeIrregular
}

// dirSize is the size reported for directories, bytes.
const dirSize = 4096

// Info describes a file. It implements fs.FileInfo; Sys returns the Info itself.
type Info struct {
	name   string
	Handle proto.Handle
	Attr   proto.Attr // all attributes, without a capability. Do not change it
	size   int64
}

// Name is the last part of the name.
func (i *Info) Name() string { return i.name }

// Size is the length of a file, or of a symlink's target, in bytes.
func (i *Info) Size() int64 { return i.size }

// Mode is the type and the permissions.
func (i *Info) Mode() fs.FileMode { return modeOf(i.Attr.Type, i.Attr.Perms) }

// ModTime is when the data or the entries changed, in whole seconds.
func (i *Info) ModTime() time.Time { return time.Unix(i.Attr.MTime, 0) }

// AccessTime is when the data were last read.
func (i *Info) AccessTime() time.Time { return time.Unix(i.Attr.ATime, 0) }

// ChangeTime is when the attributes changed.
func (i *Info) ChangeTime() time.Time { return time.Unix(i.Attr.CTime, 0) }

// IsDir reports whether this is a directory.
func (i *Info) IsDir() bool { return i.Attr.Type == proto.TypeDirectory }

// Sys is the Info itself.
func (i *Info) Sys() any { return i }

// Stuffed reports whether all bytes of a file are in its first datafile.
func (i *Info) Stuffed() bool { return stuffed(&i.Attr) }

// BlockSize is the best size of an I/O, in bytes.
func (i *Info) BlockSize() int64 {
	if l, err := layoutOf(&inode{handle: i.Handle}, &i.Attr); err == nil {
		return l.place.BlockSize(len(l.datafiles))
	}
	return dirSize
}

// String is the result of fs.FormatFileInfo.
func (i *Info) String() string { return fs.FormatFileInfo(i) }

// infoOf describes an object.
func (f *FS) infoOf(ctx context.Context, n *inode, name string) (*Info, error) {
	now := f.opt.Clock()
	a, ok := n.kept(now, f.opt.AttrTime, true)
	size, sized := n.keptSize(now, f.opt.SizeTime)
	var err error
	if !ok || !sized && stuffed(&a) { // one request for both
		if a, err = f.fetch(ctx, n); err != nil {
			return nil, err
		}
	}
	i := &Info{name: name, Handle: n.handle, Attr: a}
	i.Attr.Capability = proto.Capability{}
	i.Attr.Mask &^= proto.AttrCapability
	switch a.Type {
	case proto.TypeMetafile:
		if i.size = size; !sized || stuffed(&a) && !ok {
			i.size, err = f.sizeBy(ctx, n, &a)
		}
	case proto.TypeSymlink:
		i.size = int64(len(a.Target))
	case proto.TypeDirectory:
		i.size = dirSize
		var last int64
		if last, err = f.entriesChanged(ctx, n, &a); err == nil {
			n.merge(&i.Attr, last)
		}
	}
	return i, err
}

// StatCtx describes the object at name.
func (f *FS) StatCtx(ctx context.Context, name string) (*Info, error) {
	return f.statPath(ctx, "stat", name, follows)
}

// LstatCtx describes the object at name. It does not follow a symlink.
func (f *FS) LstatCtx(ctx context.Context, name string) (*Info, error) {
	return f.statPath(ctx, "lstat", name, noFollow)
}

func (f *FS) statPath(ctx context.Context, op, name string, how manner) (info *Info, err error) {
	err = f.onNode(ctx, name, how, func(p *place) error {
		info, err = f.infoOf(ctx, p.node, lastPart(name))
		return err
	})
	return info, pathError(op, name, err)
}

// ReadLinkCtx returns the target of a symlink.
func (f *FS) ReadLinkCtx(ctx context.Context, name string) (target string, err error) {
	err = f.onNode(ctx, name, noFollow, func(p *place) error {
		a, err := f.attrs(ctx, p.node)
		if err == nil && a.Type != proto.TypeSymlink {
			err = proto.EINVAL
		}
		target = a.Target
		return err
	})
	return target, pathError("readlink", name, err)
}

// A dirEntry is an fs.DirEntry.
type dirEntry struct {
	f      *FS
	name   string
	handle proto.Handle
	typ    fs.FileMode
	info   *Info // nil: not known yet
}

func (e *dirEntry) Name() string      { return e.name }
func (e *dirEntry) IsDir() bool       { return e.typ.IsDir() }
func (e *dirEntry) Type() fs.FileMode { return e.typ }
func (e *dirEntry) String() string    { return fs.FormatDirEntry(e) }

// Info asks the server for missing attributes, with the context of the FS.
func (e *dirEntry) Info() (fs.FileInfo, error) {
	if e.info != nil {
		return e.info, nil
	}
	n := e.f.table.get(e.handle)
	defer e.f.put(n)
	i, err := e.f.infoOf(e.f.ctx, n, e.name)
	if err != nil {
		return nil, pathError("stat", e.name, err)
	}
	return i, nil
}
