package fuse

import (
	"context"
	"io/fs"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// A target is an object whose attributes are set, with the view of the client for the calls. It is given by its name, or as an
// open file, which may have no name.
type target struct {
	context.Context
	by   *client.FS
	path string
	file *client.File // nil: use the name
}

func (t target) chmod(mode fs.FileMode) error {
	if t.file != nil {
		return t.by.ChmodFile(t, t.file, mode)
	}
	return t.by.Chmod(t, t.path, mode)
}

func (t target) chown(uid, gid int) error {
	if t.file != nil {
		return t.by.ChownFile(t, t.file, uid, gid)
	}
	return t.by.Lchown(t, t.path, uid, gid)
}

func (t target) chtimes(atime, mtime time.Time) error {
	if t.file != nil {
		return t.by.ChtimesFile(t, t.file, atime, mtime)
	}
	return t.by.Lchtimes(t, t.path, atime, mtime)
}

func (t target) touch(access, modified bool) error {
	if t.file != nil {
		return t.by.TouchFile(t, t.file, access, modified)
	}
	return t.by.Touch(t, t.path, access, modified)
}

func (t target) stat() (*client.Info, error) {
	if t.file != nil {
		return t.file.StatCtx(t)
	}
	return t.by.LstatCtx(t, t.path)
}

// target is the node's open file if there is one, else its name.
func (n *node) target(request context.Context, h gofs.FileHandle) (t target, end func(), e syscall.Errno) {
	if f, ok := h.(*file); ok {
		ctx, end := patient(request)
		return target{Context: ctx, by: n.m.view(request), file: f.f}, end, 0
	}
	c, end, e := n.begin(request)
	if e != 0 {
		return target{}, nil, e
	}
	return target{Context: c, by: c.fs, path: c.path}, end, 0
}

// set sets the owner, the mode and the times that in names.
func (n *node) set(request context.Context, h gofs.FileHandle, in *gofuse.SetAttrIn) syscall.Errno {
	t, end, e := n.target(request, h)
	if e != 0 {
		return e
	}
	defer end()
	uid, gid := -1, -1
	if v, ok := in.GetUID(); ok {
		uid = int(v)
	}
	if v, ok := in.GetGID(); ok {
		gid = int(v)
	}
	if uid >= 0 || gid >= 0 {
		if err := t.chown(uid, gid); err != nil {
			return errno(err)
		}
		if n.setID.Load() {
			if e := t.dropIDs(n); e != 0 {
				return e
			}
		}
	}
	if mode, ok := in.GetMode(); ok {
		if e := n.chmod(t, mode); e != 0 {
			return e
		}
	}
	return errno(t.times(in))
}

// times sets the times. A caller that may write to the file may set both times to now, and nothing else.
func (t target) times(in *gofuse.SetAttrIn) error {
	var atime, mtime time.Time
	if v, ok := in.GetATime(); ok {
		atime = v
	}
	if v, ok := in.GetMTime(); ok && in.Valid&gofuse.FATTR_SIZE == 0 { // otherwise it comes with the size, and the server sets it
		mtime = v
	}
	const given, now = gofuse.FATTR_ATIME | gofuse.FATTR_MTIME, gofuse.FATTR_ATIME_NOW | gofuse.FATTR_MTIME_NOW
	switch {
	case atime.IsZero() && mtime.IsZero():
		return nil
	case in.Valid&given == given && in.Valid&now == now:
		return t.touch(true, !mtime.IsZero())
	}
	return t.chtimes(atime, mtime)
}

// chmod sets the mode. When another user than the owner writes to a file, the kernel clears the set-id bits in that user's name.
// The servers allow only the owner to do that, so root does it.
func (n *node) chmod(t target, mode uint32) syscall.Errno {
	if mode&syscall.S_ISVTX != 0 {
		return syscall.EINVAL // the protocol has no sticky bit, and nothing would enforce it
	}
	if n.IsDir() || !n.m.opt.Callers || t.by.Identity().UID == 0 {
		return errno(t.chmod(modeOf(mode)))
	}
	info, err := t.stat()
	if err != nil {
		return errno(err)
	}
	const ids = syscall.S_ISUID | syscall.S_ISGID
	now := info.Attr.Perms
	if info.Attr.Owner != t.by.Identity().UID && mode&0o777 == now&0o777 && mode&ids&^now == 0 {
		t.by = n.m.fsys
	}
	return errno(t.chmod(modeOf(mode)))
}
