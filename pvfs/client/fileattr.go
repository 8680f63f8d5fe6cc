package client

import (
	"context"
	"io/fs"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// StampCtx gives the file its time of modification if its bytes were changed since it got one, and nobody has set
// one since then. Sync and Close do so, too.
func (f *File) StampCtx(ctx context.Context) error {
	return f.during("stamp", func() error { return f.stamp(ctx) })
}

// ChmodFile is Chmod for a file that is open, whether it still has a name or not. The view's user does it,
// whoever opened the file, as a view of the same mount.
func (f *FS) ChmodFile(ctx context.Context, file *File, mode fs.FileMode) error {
	return f.setFile(ctx, "chmod", file, chmodAttr(mode))
}

// ChownFile is Chown for a file that is open, as ChmodFile is.
func (f *FS) ChownFile(ctx context.Context, file *File, uid, gid int) error {
	return f.setFile(ctx, "chown", file, chownAttr(uid, gid))
}

// ChtimesFile is Chtimes for a file that is open, as ChmodFile is.
func (f *FS) ChtimesFile(ctx context.Context, file *File, atime, mtime time.Time) error {
	return f.setFile(ctx, "chtimes", file, chtimesAttr(atime, mtime))
}

// Touch lets the server put its time as the time of access, of modification or both. Unlike Chtimes it takes no more
// than the right to write. A symlink is touched itself.
func (f *FS) Touch(ctx context.Context, name string, access, modified bool) error {
	return f.setPath(ctx, "touch", name, noFollow, touchAttr(access, modified))
}

// TouchFile is Touch for a file that is open, as ChmodFile is.
func (f *FS) TouchFile(ctx context.Context, file *File, access, modified bool) error {
	return f.setFile(ctx, "touch", file, touchAttr(access, modified))
}

func touchAttr(access, modified bool) proto.Attr {
	a := proto.Attr{Mask: proto.AttrCTime}
	if access {
		a.Mask |= proto.AttrATime
	}
	if modified {
		a.Mask |= proto.AttrMTime
	}
	return a
}

func (f *FS) setFile(ctx context.Context, op string, file *File, a proto.Attr) error {
	return file.during(op, func() error { return f.setAttr(ctx, file.node, a) })
}
