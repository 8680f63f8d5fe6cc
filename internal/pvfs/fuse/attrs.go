package fuse

import (
	"context"
	"io/fs"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

var (
	_ gofs.NodeGetattrer  = (*node)(nil)
	_ gofs.NodeSetattrer  = (*node)(nil)
	_ gofs.NodeReadlinker = (*node)(nil)
	_ gofs.NodeStatfser   = (*node)(nil)
)

const (
	sectorBytes = 512 // unit of the block count of a file
	spaceBytes  = 4096
	blockMax    = 4 << 20 // bytes; the I/O size recommended to programs
)

// typeOf is the type of an object in stat.
func typeOf(t proto.ObjType) uint32 {
	switch t {
	case proto.TypeDirectory:
		return syscall.S_IFDIR
	case proto.TypeSymlink:
		return syscall.S_IFLNK
	}
	return syscall.S_IFREG
}

// fill fills in the attributes for the kernel.
func fill(out *gofuse.Attr, info *client.Info) {
	a := &info.Attr
	size := uint64(max(info.Size(), 0))
	*out = gofuse.Attr{
		Ino: uint64(info.Handle), Size: size, Blocks: (size + sectorBytes - 1) / sectorBytes,
		Mode: typeOf(a.Type) | a.Perms&0o7777, Nlink: 1, Owner: gofuse.Owner{Uid: a.Owner, Gid: a.Group},
		Blksize: uint32(min(max(info.BlockSize(), spaceBytes), blockMax)),
	}
	atime, mtime, ctime := info.AccessTime(), info.ModTime(), info.ChangeTime()
	out.SetTimes(&atime, &mtime, &ctime)
}

// modeOf converts the mode of a system call for the client.
func modeOf(bits uint32) fs.FileMode {
	m := fs.FileMode(bits & 0o777)
	if bits&syscall.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if bits&syscall.S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	return m
}

// Getattr returns the attributes of the node. For an open file it asks the file itself, because the name may be gone.
func (n *node) Getattr(request context.Context, h gofs.FileHandle, out *gofuse.AttrOut) syscall.Errno {
	began := n.pages.begin()
	info, e := n.stat(request, h)
	if e == 0 {
		n.tellAndDrop(info, began)
		fill(&out.Attr, info)
	}
	return e
}

func (n *node) stat(request context.Context, h gofs.FileHandle) (*client.Info, syscall.Errno) {
	if f, ok := h.(*file); ok {
		ctx, end := patient(request)
		defer end()
		info, err := f.f.StatCtx(ctx)
		return info, errno(err)
	}
	c, end, e := n.begin(request)
	if e != 0 {
		return nil, e
	}
	defer end()
	info, err := c.fs.LstatCtx(c, c.path)
	if e := errno(err); e == syscall.ENOENT {
		return nil, syscall.ESTALE // the name may change at once: let the kernel look it up again
	} else if e != 0 {
		return nil, e
	}
	if uint64(info.Handle) != n.StableAttr().Ino {
		return nil, syscall.ESTALE // another client gave the name to another object
	}
	return info, 0
}

// Setattr changes the size, owner, mode and times that in names.
func (n *node) Setattr(request context.Context, h gofs.FileHandle, in *gofuse.SetAttrIn, out *gofuse.AttrOut) syscall.Errno {
	defer n.change()
	if f := n.m.borrow(n); f != nil {
		defer f.lent.Done()
		if h == nil {
			h = f // the kernel passes no handle even for a call on an open file
		}
	}
	if size, ok := in.GetSize(); ok {
		if e := n.truncate(request, h, size); e != 0 {
			return e
		}
	}
	named := uint32(gofuse.FATTR_UID | gofuse.FATTR_GID | gofuse.FATTR_MODE | gofuse.FATTR_ATIME | gofuse.FATTR_MTIME)
	if in.Valid&gofuse.FATTR_SIZE != 0 {
		named &^= gofuse.FATTR_MTIME // it comes with the size, and the server sets it anyway
	}
	if in.Valid&named != 0 {
		if e := n.set(request, h, in); e != 0 {
			return e
		}
	}
	began := n.pages.begin()
	info, e := n.stat(request, h)
	if e == 0 {
		n.tell(info, began)
		fill(&out.Attr, info)
	}
	return e
}

// truncate sets the size, through the open file if there is one.
func (n *node) truncate(request context.Context, h gofs.FileHandle, size uint64) syscall.Errno {
	if size > 1<<63-1 {
		return syscall.EFBIG
	}
	if e := n.beforeWrite(request, h); e != 0 {
		return e
	}
	if f, ok := h.(*file); ok && f.write {
		ctx, end := patient(request)
		defer end()
		return errno(f.f.TruncateCtx(ctx, int64(size)))
	}
	c, end, e := n.begin(request)
	if e != 0 {
		return e
	}
	defer end()
	return errno(c.fs.Truncate(c, c.path, int64(size)))
}

// Readlink returns the target of a symlink.
func (n *node) Readlink(request context.Context) ([]byte, syscall.Errno) {
	c, end, e := n.begin(request)
	if e != 0 {
		return nil, e
	}
	defer end()
	target, err := c.fs.ReadLinkCtx(c, c.path)
	return []byte(target), errno(err)
}

// Statfs returns the space of the file system.
func (n *node) Statfs(request context.Context, out *gofuse.StatfsOut) syscall.Errno {
	ctx, end := patient(request)
	defer end()
	s, err := n.m.fsys.StatFS(ctx)
	if err != nil {
		return errno(err)
	}
	*out = gofuse.StatfsOut{
		Blocks: uint64(max(s.Total, 0)) / spaceBytes,
		Bfree:  uint64(max(s.Available, 0)) / spaceBytes,
		Bavail: uint64(max(s.Available, 0)) / spaceBytes,
		Files:  s.HandlesTotal, Ffree: s.HandlesAvailable,
		Bsize: spaceBytes, Frsize: spaceBytes, NameLen: proto.MaxName,
	}
	return 0
}
