package client

import (
	"context"
	"io/fs"
	"os"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// OpenFile opens a file or directory. flag is as in package os: one of O_RDONLY, O_WRONLY and O_RDWR, with O_APPEND, O_CREATE,
// O_EXCL, O_SYNC and O_TRUNC. perm is for a new file; there is no umask.
func (f *FS) OpenFile(ctx context.Context, name string, flag int, perm fs.FileMode) (*File, error) {
	return f.OpenStriped(ctx, name, flag, perm, Striping{})
}

// OpenStriped is OpenFile with the striping of a new file.
func (f *FS) OpenStriped(ctx context.Context, name string, flag int, perm fs.FileMode, how Striping) (*File, error) {
	n, err := f.open(ctx, name, flag, perm, how)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return newFile(f, n, name, flag), nil
}

// OpenFresh is OpenFile for an existing file. It requests the attributes, the size and the rights even if they are cached. So it
// sees what another client has written and closed.
func (f *FS) OpenFresh(ctx context.Context, name string, flag int) (*File, error) {
	var n *inode
	err := f.onNode(ctx, name, follows, func(p *place) (err error) {
		p.node.changed()
		n, err = f.openThere(ctx, p, flag)
		return err
	})
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return newFile(f, n, name, flag), nil
}

// Create makes a file, or empties an existing one, for reading and writing.
func (f *FS) Create(ctx context.Context, name string) (*File, error) {
	return f.OpenFile(ctx, name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// open returns the inode of an opened file, with a reference.
func (f *FS) open(ctx context.Context, name string, flag int, perm fs.FileMode, how Striping) (n *inode, err error) {
	if flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL {
		err = f.onNew(ctx, name, func(p *place) (err error) {
			if p.must {
				return proto.EISDIR
			}
			n, err = f.createFor(ctx, p, flag, perm, how)
			return err
		})
		return n, err
	}
	for try := 0; try < openTries; try++ {
		again := false
		err = f.onPath(ctx, name, follows, func(p *place) (err error) {
			switch {
			case p.node != nil:
				n, err = f.openThere(ctx, p, flag)
				return err
			case flag&os.O_CREATE == 0:
				p.cached = false // a server said so
				return proto.ENOENT
			case p.must:
				return proto.EISDIR
			}
			n, err = f.createFor(ctx, p, flag, perm, how)
			again = status(err) == proto.EEXIST // another process made it just now
			return err
		})
		if !again {
			return n, err
		}
	}
	return nil, err
}

// openThere opens an existing object, if its type allows it.
func (f *FS) openThere(ctx context.Context, p *place, flag int) (*inode, error) {
	if p.typ == proto.TypeDirectory && flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC) != 0 {
		return nil, proto.EISDIR
	}
	if p.typ == proto.TypeSymlink {
		return nil, proto.ELOOP
	}
	if err := f.table.settled(ctx, p.node); err != nil {
		return nil, err
	}
	rights := rightsOf(flag)
	need := rights
	if flag&os.O_TRUNC != 0 {
		need |= proto.MayWrite
	}
	err := f.may(ctx, p.node, need)
	if err == nil && flag&os.O_TRUNC != 0 {
		err = f.truncate(ctx, p.node, 0)
	}
	if err != nil {
		return nil, err
	}
	f.takeHold(p.node, rights)
	f.table.retain(p.node)
	return p.node, nil
}
