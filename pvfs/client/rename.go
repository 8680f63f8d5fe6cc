package client

import (
	"context"
	"errors"
	"slices"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Rename moves an object to another name, which may be in another directory. An object that has the name already is replaced if
// it is of the same kind and, for a directory, empty.
func (f *FS) Rename(ctx context.Context, from, to string) error {
	return linkError("rename", from, to, f.renamePaths(ctx, from, to))
}

// errMove stops a rename that moves a directory to another directory. Such renames run one at a time.
var errMove = errors.New("a directory is moved")

func (f *FS) renamePaths(ctx context.Context, from, to string) error {
	err := f.renameOnce(ctx, from, to, false)
	if errors.Is(err, errMove) {
		// Otherwise two renames could move two directories into each other. Moves by other clients are detected afterwards, see
		// connected: the protocol has no lock.
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

// mayRename checks a rename before anything is changed.
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
	// Without the right to remove the old name, do not make the new one.
	return f.may(ctx, from.dir(), proto.MayWrite|proto.MayExec)
}

// rename makes the new entry, at path, removes the old one, and then the object that had the new name before.
func (f *FS) rename(ctx context.Context, from, to *place, path string) error {
	h := from.node.handle
	before := proto.Handle(0)
	var err error
	if to.node == nil {
		err = f.crdirent(ctx, to.dir(), to.name, h)
		if status(err) == proto.EEXIST {
			f.names.forget(to.dir().handle, to.name)
			return proto.EEXIST // it was made just now
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
		return err // both names may exist
	case err != nil:
		return errors.Join(err, f.unname(undo, to, h, before))
	case had != h && had != 0:
		// The old name refers to another object by now, which must not be renamed.
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

// connected reports whether a path still leads to the directory that was moved there. If others moved a directory above it at the
// same time, perhaps into this one, the path may be broken, and both directories cut off from the root. Of the clients whose
// moves did that together, at least the one that removes its old name last finds it here and undoes its move. So no directory
// stays cut off.
func (f *FS) connected(ctx context.Context, path string, h proto.Handle) bool {
	f.names.clear()
	p, err := f.walk(ctx, path, noFollow)
	if err != nil {
		return false
	}
	defer p.release()
	return p.node != nil && p.node.handle == h
}

// unname removes a new entry, or restores its previous object.
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

// replaced removes the object that had the new name before.
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
		// An entry was added meanwhile: undo everything.
		return errors.Join(err, f.unname(ctx, to, from.node.handle, before), f.crdirent(ctx, from.dir(), from.name, from.node.handle))
	}
	if err != nil && status(err) != proto.ENOENT {
		f.opt.Log.Warn("pvfs: an object without a name is left over", "handle", uint64(before), "error", err)
	}
	return nil
}
