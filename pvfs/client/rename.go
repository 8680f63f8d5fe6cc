package client

import (
	"context"
	"errors"
	"slices"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Rename gives an object another name, in another directory perhaps. What has that name already is
// replaced, if it is of the same kind, and empty if it is a directory.
func (f *FS) Rename(ctx context.Context, from, to string) error {
	return linkError("rename", from, to, f.renamePaths(ctx, from, to))
}

// errMove stops a renaming that moves a directory to another, which is done alone.
var errMove = errors.New("a directory is moved")

func (f *FS) renamePaths(ctx context.Context, from, to string) error {
	err := f.renameOnce(ctx, from, to, false)
	if errors.Is(err, errMove) {
		// Two of them could otherwise go into each other. That other clients do that to us is found out
		// afterwards, see connected: the protocol has no lock.
		f.moving.Lock()
		defer f.moving.Unlock()
		err = f.renameOnce(ctx, from, to, true)
	}
	return err
}

func (f *FS) renameOnce(ctx context.Context, from, to string, alone bool) error {
	for _, last := range []string{lastPart(from), lastPart(to)} {
		switch last {
		case ".", "..":
			return proto.EINVAL
		case "/":
			return proto.EBUSY
		}
	}
	return f.onNode(ctx, from, noFollow, func(old *place) error {
		path := to
		return f.onPath(ctx, to, noFollow, func(to *place) error {
			old.cached = old.cached || to.cached
			if err := f.mayRename(ctx, old, to); err != nil {
				return err
			}
			if to.node == old.node && to.dir() == old.dir() && to.name == old.name {
				return nil
			}
			if !alone && old.typ == proto.TypeDirectory && old.dir() != to.dir() {
				return errMove
			}
			return f.rename(ctx, old, to, path)
		})
	})
}

// mayRename finds what is wrong with a renaming before anything is changed.
func (f *FS) mayRename(ctx context.Context, from, to *place) error {
	isDir := from.typ == proto.TypeDirectory
	switch {
	case from.dir() == nil, to.dir() == nil:
		return proto.EBUSY // the root
	case !isDir && (from.must || to.must):
		return proto.ENOTDIR
	case isDir && slices.Contains(to.chain, from.node):
		return proto.EINVAL // into itself
	case to.node != nil && to.node == from.node:
		return nil
	case to.node != nil && isDir && to.typ != proto.TypeDirectory:
		return proto.ENOTDIR
	case to.node != nil && !isDir && to.typ == proto.TypeDirectory:
		return proto.EISDIR
	case slices.Contains(from.chain, to.node):
		return proto.ENOTEMPTY
	}
	if to.node != nil && isDir {
		if err := f.empty(ctx, to.node); err != nil {
			return err
		}
	}
	// Who may not take the old name away should not begin with making the new one.
	return f.may(ctx, from.dir(), proto.MayWrite|proto.MayExec)
}

// rename makes the new entry, which path leads to, and removes the old one, and then what the new one led to
// before.
func (f *FS) rename(ctx context.Context, from, to *place, path string) error {
	h := from.node.handle
	before := proto.Handle(0)
	var err error
	if to.node == nil {
		err = f.crdirent(ctx, to.dir(), to.name, h)
		if status(err) == proto.EEXIST {
			f.names.forget(to.dir().handle, to.name)
			return proto.EEXIST // somebody made it just now
		}
	} else {
		before, err = f.chdirent(ctx, to.dir(), to.name, h)
		if err == nil && before == 0 {
			before = to.node.handle
		}
	}
	if err != nil {
		return err
	}
	undo := context.WithoutCancel(ctx)
	var hints []proto.Hint
	if from.dir() != to.dir() {
		hints = append(hints, proto.MovesHint(h, to.dir().handle))
	}
	had, err := f.rmdirent(ctx, from.dir(), from.name, hints...)
	switch {
	case unsure(err):
		return err // both names may be there
	case err != nil:
		return errors.Join(err, f.unname(undo, to, h, before))
	case had != h && had != 0:
		// The old name led to something else by now: that was not to be renamed.
		return errors.Join(proto.ENOENT, f.crdirent(undo, from.dir(), from.name, had), f.unname(undo, to, h, before))
	}
	if from.typ == proto.TypeDirectory && from.dir() != to.dir() && !f.connected(undo, path, h) {
		err := f.crdirent(undo, from.dir(), from.name, h)
		if err == nil {
			err = f.unname(undo, to, h, before)
		}
		return errors.Join(proto.EBUSY, err)
	}
	from.node.touched()
	if before == 0 || before == h {
		return nil
	}
	return f.replaced(undo, from, to, before)
}

// connected reports whether a path still leads to a directory that was moved there. If others moved a directory above
// it at the same time, into this one perhaps, it may not, and both may be cut off from the root. Of
// those that cut each other off, the one that removes its old name last sees that here, whoever else does, and
// takes it back; so none stays cut off.
func (f *FS) connected(ctx context.Context, path string, h proto.Handle) bool {
	f.names.clear()
	p, err := f.walk(ctx, path, noFollow)
	if err != nil {
		return false
	}
	defer p.release()
	return p.node != nil && p.node.handle == h
}

// unname takes a new entry away again, or lets it lead to what it did before.
func (f *FS) unname(ctx context.Context, to *place, h, before proto.Handle) error {
	if before != 0 {
		_, err := f.chdirent(ctx, to.dir(), to.name, before)
		return err
	}
	had, err := f.rmdirent(ctx, to.dir(), to.name)
	if err == nil && had != 0 && had != h {
		err = f.crdirent(ctx, to.dir(), to.name, had)
	}
	return err
}

// replaced removes what the new name led to before.
func (f *FS) replaced(ctx context.Context, from, to *place, before proto.Handle) error {
	by := f.rightOf(ctx, to.dir())
	own := 1
	n := f.table.get(before)
	defer f.put(n)
	typ := to.typ
	if to.node == n {
		own++
	} else if a, err := f.attrs(ctx, n); err == nil {
		typ = a.Type
	}
	if typ != proto.TypeDirectory {
		f.discard(ctx, n, own, by, typ)
		return nil
	}
	err := f.removeSpread(ctx, n, by)
	n.changed()
	if status(err) == proto.ENOTEMPTY {
		// Somebody put something in meanwhile: all goes back.
		return errors.Join(err, f.unname(ctx, to, from.node.handle, before), f.crdirent(ctx, from.dir(), from.name, from.node.handle))
	}
	if err != nil && status(err) != proto.ENOENT {
		f.opt.Log.Warn("pvfs: an object without a name is left over", "handle", uint64(before), "error", err)
	}
	return nil
}
