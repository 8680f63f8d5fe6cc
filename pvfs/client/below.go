package client

import (
	"context"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Below returns a view whose names begin in the directory that name leads to, and which follows no symbolic link. A link within a
// name is ELOOP; so is one at its end, except for methods that work on the link itself (Lstat, ReadLink, Lchown, Remove and the like).
// ".." at the top of the view is the top. The view stays with the directory if that is renamed.
//
// Programs that walk a tree which other users can change need it: a path that was checked before may lead elsewhere when it is used.
func (f *FS) Below(ctx context.Context, name string) (*FS, error) {
	view := *f
	err := f.onNode(ctx, name, follows, func(p *place) error {
		if p.typ != proto.TypeDirectory {
			return proto.ENOTDIR
		}
		view.top, view.noLinks = p.node.handle, true
		return nil
	})
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return &view, nil
}

// start returns the directory where names begin, with a reference.
func (f *FS) start() *inode {
	if f.noLinks {
		return f.table.get(f.top)
	}
	return f.table.get(f.cfg.Root)
}
