package client

import (
	"context"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Below returns a view of the directory at name. Names in the view begin there, and no symbolic link is followed. A link in the
// middle of a name is ELOOP. So is a link at its end, except for methods that work on the link itself (Lstat, ReadLink, Lchown,
// Remove and the like). ".." at the top of the view is the top. The view stays with the directory if that is renamed.
//
// Programs that walk a tree which other users can change need this: between the check of a path and its use, the path may change
// its meaning.
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
