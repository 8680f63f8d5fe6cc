package client

import (
	"context"
	"io/fs"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// StampCtx updates mtime if the data changed after mtime was last set. Sync and Close do the same.
func (f *File) StampCtx(ctx context.Context) error {
	return f.during("stamp", func() error { return f.stamp(ctx) })
}

// ChmodFile is Chmod for an open file, which need not have a name any more. It acts for this view's user, even if a view of
// another user opened the file. Both views must be of the same mount.
func (f *FS) ChmodFile(ctx context.Context, file *File, mode fs.FileMode) error {
	return f.setFile(ctx, "chmod", file, chmodAttr(mode))
}

// ChownFile is Chown for an open file, see ChmodFile.
func (f *FS) ChownFile(ctx context.Context, file *File, uid, gid int) error {
	return f.setFile(ctx, "chown", file, chownAttr(uid, gid))
}

// ChtimesFile is Chtimes for an open file, see ChmodFile.
func (f *FS) ChtimesFile(ctx context.Context, file *File, atime, mtime time.Time) error {
	return f.setFile(ctx, "chtimes", file, chtimesAttr(atime, mtime))
}

// Touch sets the access time, the modification time or both to the server's time. Unlike Chtimes it needs only the right to
// write. It does not follow a symlink.
func (f *FS) Touch(ctx context.Context, name string, access, modified bool) error {
	return f.setPath(ctx, "touch", name, noFollow, touchAttr(access, modified))
}

// TouchFile is Touch for an open file, see ChmodFile.
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
