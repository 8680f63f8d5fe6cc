package client

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// The kinds of objects that a removal accepts.
type removes int

const (
	removesAny removes = iota
	removesFile
	removesDir
)

// Remove removes a file, a symlink or an empty directory.
func (f *FS) Remove(ctx context.Context, name string) error {
	return pathError("remove", name, f.removePath(ctx, name, removesAny))
}

// Unlink removes an object that is not a directory.
func (f *FS) Unlink(ctx context.Context, name string) error {
	return pathError("unlink", name, f.removePath(ctx, name, removesFile))
}

// Rmdir removes an empty directory.
func (f *FS) Rmdir(ctx context.Context, name string) error {
	return pathError("rmdir", name, f.removePath(ctx, name, removesDir))
}

func (f *FS) removePath(ctx context.Context, name string, what removes) error {
	if last := lastPart(name); last == "." || last == ".." {
		return proto.EINVAL
	}
	return f.onNode(ctx, name, noFollow, func(p *place) error {
		isDir := p.typ == proto.TypeDirectory
		switch {
		case p.dir() == nil:
			return proto.EBUSY // the root
		case isDir && what == removesFile:
			return proto.EISDIR
		case !isDir && what == removesDir:
			return proto.ENOTDIR
		case isDir:
			return f.rmdir(ctx, p.dir(), p.name, p.node)
		}
		return f.unlink(ctx, p.dir(), p.name, p.node, p.typ)
	})
}

// unlink removes the name of a file or symlink, and the object with it or afterwards. If another client has meanwhile given the
// name to another object, it removes that object.
func (f *FS) unlink(ctx context.Context, dir *inode, name string, n *inode, typ proto.ObjType) error {
	by := f.rightOf(ctx, dir)
	var datafiles *question
	if typ == proto.TypeMetafile && !f.isOurs(n.handle) {
		datafiles = f.askDatafiles(ctx, n.handle, dir.handle)
		defer datafiles.drop()
	}
	had, removed, err := f.unlinkOf(ctx, dir, name, n)
	if err != nil || removed {
		return err
	}
	ctx = context.WithoutCancel(ctx) // the name is gone
	switch {
	case had == 0:
		return nil // it is not known whether the name referred to this object
	case had != n.handle:
		other := f.table.get(had)
		defer f.put(other)
		a, err := f.attrs(ctx, other)
		if err != nil {
			return nil
		}
		if a.Type == proto.TypeDirectory {
			return f.removeDir(ctx, dir, name, other, by)
		}
		f.discard(ctx, other, 1, by, a.Type)
		return nil
	}
	if !f.table.leave(n, 1, &orphan{f, by, typ}) {
		f.leftOver(n.handle, f.eradicateWith(ctx, by, n.handle, typ, datafiles))
	}
	return nil
}

// unlinkOf removes a name. It also removes the object, if that is n, no other part of this client uses n, and one server of ours
// has both. removed reports whether it did.
func (f *FS) unlinkOf(ctx context.Context, dir *inode, name string, n *inode) (had proto.Handle, removed bool, err error) {
	if !f.table.claim(n) {
		had, err = f.rmdirent(ctx, dir, name)
		return had, false, err
	}
	defer f.table.unclaim(n)
	had, removed, err = f.rmdirentOf(ctx, dir, name, n.handle)
	if removed || unsure(err) || err == nil && had == 0 {
		n.changed()
	}
	return had, removed, err
}

// discard removes an object without a name, now or after its last file is closed. own is the number of the caller's references.
func (f *FS) discard(ctx context.Context, n *inode, own int, by right, typ proto.ObjType) {
	if typ != proto.TypeDirectory && f.table.leave(n, own, &orphan{f, by, typ}) {
		return
	}
	f.leftOver(n.handle, f.eradicate(ctx, by, n.handle, typ))
}

// leftOver logs an object that could not be removed, if err is not nil.
func (f *FS) leftOver(h proto.Handle, err error) {
	if err != nil {
		f.opt.Log.Warn("pvfs: an object without a name is left over", "handle", uint64(h), "error", err)
	}
}

// rmdir removes an empty directory.
func (f *FS) rmdir(ctx context.Context, dir *inode, name string, n *inode) error {
	if err := f.empty(ctx, n); err != nil {
		return err
	}
	by := f.rightOf(ctx, dir)
	had, err := f.rmdirent(ctx, dir, name)
	if err != nil || had == 0 {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if had == n.handle {
		return f.removeDir(ctx, dir, name, n, by)
	}
	other := f.table.get(had)
	defer f.put(other)
	return f.removeDir(ctx, dir, name, other, by)
}

// removeDir removes the object of a directory whose name was removed. If the server refuses, it restores the name.
func (f *FS) removeDir(ctx context.Context, dir *inode, name string, n *inode, by right) error {
	err := f.removeSpread(ctx, n, by)
	n.changed()
	switch {
	case err == nil, status(err) == proto.ENOENT:
		return nil
	case unsure(err):
		f.opt.Log.Warn("pvfs: an object without a name may be left over", "handle", uint64(n.handle), "error", err)
		return nil
	}
	if back := f.crdirent(ctx, dir, name, n.handle); back != nil {
		return errors.Join(err, back)
	}
	return err
}

// removeSpread requests the removal of a directory. It repeats the request while the server is removing the directory already, or
// is undoing an earlier try.
func (f *FS) removeSpread(ctx context.Context, n *inode, by right) error {
	wait := dirRetryAfter
	for try := 0; ; try++ {
		req := &proto.RemoveReq{Handle: n.handle, FS: f.cfg.ID, Cred: f.cred()}
		err := f.call(ctx, n.handle, hinted(by.cap, by.dir), req, &proto.RemoveResp{})
		if status(err) != proto.EAGAIN || try >= dirRetriesMax || f.retryLimit == 0 {
			return err
		}
		if f.pause(ctx, wait) != nil {
			return err
		}
		wait = min(2*wait, dirRetryMax)
	}
}

// empty returns ENOTEMPTY if a directory has entries.
func (f *FS) empty(ctx context.Context, n *inode) error {
	a, err := f.fetch(ctx, n) // another client may have spread it over more servers
	if err != nil {
		return err
	}
	parts := dirdatas(&a.DistDir)
	return all(len(parts), func(i int) error {
		var resp proto.ReadDirResp
		err := f.shown(ctx, n, 0, func(h *proto.Header) error {
			req := &proto.ReadDirReq{Dirdata: parts[i], FS: f.cfg.ID, Count: 1, Token: proto.TokenStart}
			return f.call(ctx, parts[i], h, req, &resp)
		})
		switch {
		case status(err) == proto.EACCES:
			return nil // without the right to read it, the user may still remove it; the server knows whether it is empty
		case err == nil && len(resp.Entries) > 0:
			return proto.ENOTEMPTY
		}
		return err
	})
}

// RemoveAll removes the object at name and everything below it. It is not an error if there is none. After an error it goes on,
// and returns the first error at the end. It never follows a symbolic link below name, even if others change the tree at the same
// time.
func (f *FS) RemoveAll(ctx context.Context, name string) error {
	last := lastPart(name)
	if last == "." || last == ".." {
		return pathError("removeall", name, proto.EINVAL)
	}
	err := f.Remove(ctx, name)
	if status(err) == proto.ENOTEMPTY {
		err = f.removeFull(ctx, name, last, err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeFull removes a directory that is not empty.
func (f *FS) removeFull(ctx context.Context, name, last string, full error) error {
	dir, err := f.Below(ctx, strings.TrimSuffix(strings.TrimRight(name, "/"), last)+".")
	if err != nil {
		return err
	}
	return dir.removeTree(ctx, last, name, full)
}

const (
	removeRounds  = 8
	removesAtOnce = 16
)

// removeTree removes a directory of a view that follows no links, and its contents. name is the name in the view, path the one
// for errors, and full the error that said that it is not empty.
func (f *FS) removeTree(ctx context.Context, name, path string, full error) error {
	var first error
	for round := 0; round < removeRounds; round++ {
		dir, err := f.Below(ctx, name)
		if err != nil {
			return pathError("open", path, causeOf(err))
		}
		if first = dir.removeContents(ctx, path); first != nil {
			break
		}
		// Others may add entries meanwhile.
		if full = f.removeNamed(ctx, name, path); status(full) != proto.ENOTEMPTY {
			return full
		}
	}
	return errors.Join(first, full)
}

// removeNamed is Remove of a name in a view. Its error has path.
func (f *FS) removeNamed(ctx context.Context, name, path string) error {
	return pathError("remove", path, f.removePath(ctx, name, removesAny))
}

// removeContents removes the contents of the view's top directory: first the entries that can be removed at once, several in
// parallel, then those with something below them.
func (f *FS) removeContents(ctx context.Context, path string) error {
	entries, err := f.readNames(ctx, ".")
	if err != nil {
		return pathError("readdir", path, causeOf(err))
	}
	full := make([]error, len(entries))
	first := parallel(len(entries), removesAtOnce, func(i int) error {
		err := f.removeNamed(ctx, entries[i].Name, join(path, entries[i].Name))
		if status(err) == proto.ENOTEMPTY {
			full[i] = err
			return nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	for i := range entries {
		if full[i] == nil {
			continue
		}
		err := f.removeTree(ctx, entries[i].Name, join(path, entries[i].Name), full[i])
		if err != nil && !errors.Is(err, fs.ErrNotExist) && first == nil {
			first = err
		}
	}
	return first
}
