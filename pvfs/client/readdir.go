package client

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// listsAtOnce is how many LISTATTR requests are under way for one directory.
const listsAtOnce = 8

// A dirReader reads a directory: all its dirdata objects in parallel, each with its own token.
type dirReader struct {
	f       *FS
	dir     *inode
	parts   []dirPart
	started bool
	// seen are the names already returned. If a directory is divided meanwhile, entries move from an old dirdata object to a new
	// one.
	seen map[string]struct{}
	old  []proto.Handle
}

type dirPart struct {
	dirdata proto.Handle
	token   uint64
	done    bool
}

// next returns the next entries, some hundreds of each dirdata object; none at the end.
func (r *dirReader) next(ctx context.Context) ([]proto.DirEntry, error) {
	if !r.started {
		if err := r.start(ctx); err != nil {
			return nil, err
		}
	}
	for {
		open := r.open()
		if len(open) == 0 {
			more, err := r.grown(ctx)
			if err != nil || !more {
				return nil, err
			}
			continue
		}
		got := make([][]proto.DirEntry, len(open))
		err := all(len(open), func(i int) (err error) {
			got[i], err = r.read(ctx, open[i])
			return err
		})
		if err != nil {
			return nil, err
		}
		if entries := r.fresh(slices.Concat(got...)); len(entries) > 0 {
			return entries, nil
		}
	}
}

// start starts with the dirdata objects in use.
func (r *dirReader) start(ctx context.Context) error {
	a, err := r.f.directory(ctx, r.dir)
	if err != nil {
		return err
	}
	r.started = true
	r.add(&a)
	return nil
}

// add adds new dirdata objects, and reports whether there were any.
func (r *dirReader) add(a *proto.Attr) bool {
	grown := false
	for _, h := range dirdatas(&a.DistDir) {
		if !slices.Contains(r.old, h) {
			r.old = append(r.old, h)
			r.parts = append(r.parts, dirPart{dirdata: h, token: proto.TokenStart})
			grown = true
		}
	}
	return grown
}

// grown checks at the end whether the directory was divided meanwhile. It sends a request only if the directory can divide.
func (r *dirReader) grown(ctx context.Context) (bool, error) {
	a, err := r.f.directory(ctx, r.dir)
	if err != nil || len(a.DistDir.Dirdata) == len(r.parts) {
		return false, err
	}
	if a, err = r.f.fetch(ctx, r.dir); err != nil {
		return false, err
	}
	return r.add(&a), nil
}

func (r *dirReader) open() (open []*dirPart) {
	for i := range r.parts {
		if !r.parts[i].done {
			open = append(open, &r.parts[i])
		}
	}
	return open
}

// read requests the next entries of a dirdata object.
func (r *dirReader) read(ctx context.Context, p *dirPart) ([]proto.DirEntry, error) {
	var resp proto.ReadDirResp
	err := r.f.shown(ctx, r.dir, proto.MayRead, func(h *proto.Header) error {
		resp = proto.ReadDirResp{}
		req := &proto.ReadDirReq{Dirdata: p.dirdata, FS: r.f.cfg.ID, Count: proto.MaxReadDir, Token: p.token}
		return r.f.call(ctx, p.dirdata, h, req, &resp)
	})
	if err != nil {
		return nil, err
	}
	// Stop if a server returns nothing new. Otherwise this could go on for ever.
	p.done = resp.Token == proto.TokenEnd || len(resp.Entries) == 0 || resp.Token == p.token
	p.token = resp.Token
	return slices.DeleteFunc(resp.Entries, func(e proto.DirEntry) bool { return !plainName(e.Name) }), nil
}

// plainName reports whether the name of an entry is valid.
func plainName(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) <= proto.MaxName && !strings.ContainsAny(s, "/\x00")
}

// fresh removes names that were returned before, unless the directory cannot divide.
func (r *dirReader) fresh(entries []proto.DirEntry) []proto.DirEntry {
	if a, ok := r.dir.kept(r.f.opt.Clock(), 1<<62, false); ok && len(a.DistDir.Dirdata) == 1 && len(r.parts) == 1 {
		return entries
	}
	if r.seen == nil {
		r.seen = make(map[string]struct{})
	}
	return slices.DeleteFunc(entries, func(e proto.DirEntry) bool {
		_, twice := r.seen[e.Name]
		r.seen[e.Name] = struct{}{}
		return twice
	})
}

// readNames returns all entries of a directory, without attributes.
func (f *FS) readNames(ctx context.Context, name string) (entries []proto.DirEntry, err error) {
	err = f.onNode(ctx, name, follows, func(p *place) error {
		entries, err = f.entries(ctx, p.node)
		return err
	})
	return entries, pathError("readdir", name, err)
}

func (f *FS) entries(ctx context.Context, dir *inode) (all []proto.DirEntry, err error) {
	r := &dirReader{f: f, dir: dir}
	for {
		some, err := r.next(ctx)
		if err != nil {
			return nil, err
		}
		if len(some) == 0 {
			return all, nil
		}
		all = append(all, some...)
	}
}

// ReadDirCtx reads a directory, sorted by name. Info of an entry requests the attributes that are missing.
func (f *FS) ReadDirCtx(ctx context.Context, name string) ([]fs.DirEntry, error) {
	infos, err := f.readInfos(ctx, name, false)
	if err != nil {
		return nil, pathError("readdir", name, err)
	}
	list := make([]fs.DirEntry, len(infos))
	for i, e := range infos {
		list[i] = e
	}
	return list, nil
}

// ReadDirPlus reads a directory with the attributes of all its objects, by few requests, sorted by name. It leaves out objects
// that are removed meanwhile.
func (f *FS) ReadDirPlus(ctx context.Context, name string) ([]*Info, error) {
	entries, err := f.readInfos(ctx, name, true)
	if err != nil {
		return nil, pathError("readdir", name, err)
	}
	infos := make([]*Info, 0, len(entries))
	for _, e := range entries {
		if e.info != nil {
			infos = append(infos, e.info)
		}
	}
	return infos, nil
}

// ReadNames returns the names in a directory, sorted. It costs less than ReadDirCtx.
func (f *FS) ReadNames(ctx context.Context, name string) ([]string, error) {
	entries, err := f.readNames(ctx, name)
	if err != nil {
		return nil, err
	}
	list := make([]string, len(entries))
	for i, e := range entries {
		list[i] = e.Name
	}
	slices.Sort(list)
	return list, nil
}

func (f *FS) readInfos(ctx context.Context, name string, sizes bool) (list []*dirEntry, err error) {
	err = f.onNode(ctx, name, follows, func(p *place) error {
		entries, err := f.entries(ctx, p.node)
		if err != nil {
			return err
		}
		slices.SortFunc(entries, func(a, b proto.DirEntry) int { return strings.Compare(a.Name, b.Name) })
		list, err = f.describeAll(ctx, p.node, entries, sizes)
		return err
	})
	return list, err
}
