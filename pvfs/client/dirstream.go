package client

import (
	"context"
	"io"
	"io/fs"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A dirStream is the position of ReadDir in an open directory.
type dirStream struct {
	reader dirReader
	left   []*dirEntry
	plus   bool // the entries in left have their Info
	ended  bool
}

// ReadDir returns the next entries of a directory: at most n, in the order of its servers, and io.EOF at the end. With n ≤ 0 it
// returns all that are left.
func (f *File) ReadDir(n int) ([]fs.DirEntry, error) { return f.ReadDirCtx(f.fsys.ctx, n) }

// ReadDirCtx is ReadDir with a context.
func (f *File) ReadDirCtx(ctx context.Context, n int) (list []fs.DirEntry, err error) {
	entries, err := f.readDir(ctx, n, false)
	for _, e := range entries {
		list = append(list, e)
	}
	return list, err
}

// ReadDirPlusCtx is ReadDirCtx with the attributes of the entries, which takes few requests. It leaves out entries that are
// removed meanwhile. It keeps some hundreds of entries in memory, however large the directory is.
func (f *File) ReadDirPlusCtx(ctx context.Context, n int) (list []*Info, err error) {
	for {
		entries, err := f.readDir(ctx, n, true)
		for _, e := range entries {
			if e.info != nil {
				list = append(list, e.info)
			}
		}
		if n <= 0 || err != nil || len(list) > 0 {
			return list, err
		}
	}
}

// readDir returns the next entries, with their Info if plus is set.
func (f *File) readDir(ctx context.Context, n int, plus bool) ([]*dirEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, pathError("readdir", f.name, fs.ErrClosed)
	}
	if f.dir == nil {
		f.dir = &dirStream{reader: dirReader{f: f.fsys, dir: f.node}}
	}
	list, err := f.dir.read(ctx, f.fsys, n, plus)
	if err == io.EOF {
		return nil, io.EOF
	}
	return list, pathError("readdir", f.name, err)
}

// RewindDir makes ReadDir start from the beginning.
func (f *File) RewindDir() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dir = nil
}

func (d *dirStream) read(ctx context.Context, f *FS, n int, plus bool) (list []*dirEntry, err error) {
	for !d.ended && (n <= 0 || len(list) < n) {
		if len(d.left) == 0 || plus && !d.plus {
			if err = d.more(ctx, f, plus); err != nil {
				break
			}
		}
		take := len(d.left)
		if n > 0 {
			take = min(take, n-len(list))
		}
		list = append(list, d.left[:take]...)
		d.left = d.left[take:]
	}
	if n > 0 && len(list) == 0 && err == nil {
		return nil, io.EOF
	}
	return list, err
}

// more gets the next entries, or the missing Info of those that are left.
func (d *dirStream) more(ctx context.Context, f *FS, plus bool) error {
	var entries []proto.DirEntry
	for _, e := range d.left {
		entries = append(entries, proto.DirEntry{Name: e.name, Handle: e.handle})
	}
	if len(entries) == 0 {
		var err error
		if entries, err = d.reader.next(ctx); err != nil {
			return err
		}
		d.ended = len(entries) == 0
	}
	left, err := f.describeAll(ctx, d.reader.dir, entries, plus)
	if err == nil {
		d.left, d.plus = left, plus
	}
	return err
}

// Entries iterates over a directory in the order of its servers. It keeps only some hundreds of entries at a time, so the
// directory may be larger than memory. An error ends the iteration.
func (f *FS) Entries(ctx context.Context, name string) func(yield func(proto.DirEntry, error) bool) {
	return func(yield func(proto.DirEntry, error) bool) {
		err := f.onNode(ctx, name, follows, func(p *place) error {
			r := &dirReader{f: f, dir: p.node}
			for {
				some, err := r.next(ctx)
				if err != nil || len(some) == 0 {
					return err
				}
				p.cached = false // entries were yielded already, so it cannot start again
				for _, e := range some {
					if !yield(e, nil) {
						return nil
					}
				}
			}
		})
		if err != nil {
			yield(proto.DirEntry{}, pathError("readdir", name, err))
		}
	}
}
