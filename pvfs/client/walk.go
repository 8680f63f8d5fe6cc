package client

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A place is the result of resolving a path.
type place struct {
	view  *FS
	chain []*inode // the directories from the root to the one with the name, with references
	name  string   // in the last of them; "" if the path ends in the root or in ".."
	node  *inode   // with a reference; nil: there is no object of this name
	typ   proto.ObjType
	must  bool // the path ends in a slash, so it must be a directory
	// cached: a name on the way came from the cache, and may refer to another object by now.
	cached bool
	// guessed: no server was asked whether the name exists.
	guessed bool
}

// How a path is walked.
type manner int

const (
	noFollow manner = iota // a symlink at the end is the object itself
	follows                // a symlink at the end is followed
	isNew                  // as noFollow; the last name should be free, so no server is asked for it
)

// dir is the directory that has the name; nil for the root.
func (p *place) dir() *inode {
	if len(p.chain) == 0 {
		return nil
	}
	return p.chain[len(p.chain)-1]
}

// release gives the references back.
func (p *place) release() {
	for _, n := range p.chain {
		p.view.put(n)
	}
	if p.node != nil {
		p.view.put(p.node)
	}
	p.chain, p.node = nil, nil
}

// A walker walks along a path.
type walker struct {
	f     *FS
	chain []*inode // the directories to here; the last one is the current one
	rest  []string // the remaining names
	known []found  // a server's answers for the first names of rest
	loops int
	place *place
}

// found is the object of a name.
type found struct {
	handle proto.Handle
	typ    proto.ObjType // TypeNone if not known
	kept   bool          // from the cache
}

// walk resolves a path. It follows symlinks, the last one only if how says so or the path ends in a slash. A view that follows
// none returns ELOOP for them. It is not an error if the last name does not exist.
func (f *FS) walk(ctx context.Context, path string, how manner) (*place, error) {
	if len(path) > proto.MaxPath {
		return nil, proto.ENAMETOOLONG
	}
	if path == "" {
		return nil, proto.ENOENT
	}
	if strings.IndexByte(path, 0) >= 0 {
		return nil, proto.EINVAL
	}
	p := &place{view: f}
	p.must = strings.HasSuffix(path, "/") || strings.HasSuffix(path, "/.") || path == "."
	w := &walker{f: f, place: p, rest: parts(path)}
	w.chain = append(w.chain, f.start())
	if p.must && how == noFollow {
		how = follows
	}
	if err := w.run(ctx, how); err != nil {
		p.chain = w.chain
		p.release()
		return nil, err
	}
	return p, nil
}

// parts are the names of a path, without empty ones and ".".
func parts(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" || s == "." })
}

// here is the current directory.
func (w *walker) here() *inode { return w.chain[len(w.chain)-1] }

// run walks to the end.
func (w *walker) run(ctx context.Context, how manner) error {
	for len(w.rest) > 0 {
		name := w.rest[0]
		last := len(w.rest) == 1
		if name == ".." {
			w.up()
			continue
		}
		if len(name) > proto.MaxName {
			return proto.ENAMETOOLONG
		}
		to, err := w.step(ctx, name, how)
		if status(err) == proto.ENOENT && last {
			w.place.chain, w.place.name = w.chain, name
			return nil
		}
		if err != nil {
			return err
		}
		node := w.f.table.get(to.handle)
		if to.typ == proto.TypeNone {
			a, err := w.f.attrs(ctx, node)
			if err != nil {
				w.f.put(node)
				if to.kept && status(err) == proto.ENOENT {
					w.f.names.forget(w.here().handle, name)
					continue // and ask a server
				}
				return err
			}
			to.typ = a.Type
		}
		switch {
		case to.typ == proto.TypeSymlink && (!last || how == follows):
			err := w.follow(ctx, node)
			w.f.put(node)
			if err != nil {
				return err
			}
		case last:
			p := w.place
			p.chain, p.name, p.node, p.typ = w.chain, name, node, to.typ
			if p.must && to.typ != proto.TypeDirectory {
				return proto.ENOTDIR
			}
			return nil
		case to.typ == proto.TypeDirectory:
			w.chain = append(w.chain, node)
			w.rest = w.rest[1:]
		default:
			w.f.put(node)
			return proto.ENOTDIR
		}
	}
	p := w.place
	p.node, p.typ = w.here(), proto.TypeDirectory
	p.chain = w.chain[:len(w.chain)-1]
	return nil
}

// up goes to the parent. The parent of the root is the root.
func (w *walker) up() {
	if len(w.chain) > 1 {
		w.f.put(w.here())
		w.chain = w.chain[:len(w.chain)-1]
	}
	w.rest, w.known = w.rest[1:], nil
}

// follow replaces the name of a symlink by its target.
func (w *walker) follow(ctx context.Context, node *inode) error {
	w.loops++
	if w.f.noLinks || w.loops > loopsMax {
		return proto.ELOOP
	}
	a, err := w.f.attrs(ctx, node)
	if err != nil {
		return err
	}
	if a.Type != proto.TypeSymlink || a.Target == "" {
		return proto.ENOENT
	}
	if len(a.Target) > proto.MaxPath {
		return proto.ENAMETOOLONG
	}
	if strings.HasPrefix(a.Target, "/") {
		for len(w.chain) > 1 {
			w.f.put(w.here())
			w.chain = w.chain[:len(w.chain)-1]
		}
	}
	w.rest = append(parts(a.Target), w.rest[1:]...)
	w.known = nil
	return nil
}

// step finds the object of name, the first of rest, in the current directory.
func (w *walker) step(ctx context.Context, name string, how manner) (found, error) {
	f, dir := w.f, w.here()
	if len(w.known) > 0 {
		to := w.known[0]
		w.known = w.known[1:]
		return to, nil
	}
	if h, ok := f.names.get(f.user, dir.handle, name, f.opt.Clock()); ok {
		w.place.cached = true
		return found{handle: h, kept: true}, nil
	}
	path := ahead(w.rest)
	if how == isNew && len(path) == len(w.rest) {
		if len(path) == 1 {
			w.place.guessed = true
			return found{}, proto.ENOENT
		}
		path = path[:len(path)-1]
	}
	all, err := f.lookup(ctx, dir, path)
	if err != nil {
		return found{}, err
	}
	w.known = all[1:]
	return all[0], nil
}

// ahead returns the first names of a path, up to the limit of one request.
func ahead(rest []string) []string {
	bytes := 0
	for i, name := range rest {
		bytes += len(name) + 1
		if i > 0 && (name == ".." || len(name) > proto.MaxName || i == proto.MaxSegments || bytes > proto.MaxPath) {
			return rest[:i]
		}
	}
	return rest
}

// lookupMask are the attributes that servers of ours return for the last object of a path, if they have it: all those of files
// and symlinks. Stock servers return the common ones of every object.
const lookupMask = proto.AttrCommon | proto.AttrDist | proto.AttrDatafiles | proto.AttrMirror | proto.AttrTarget

// found caches the attributes of an object from a lookup.
func (f *FS) found(h proto.Handle, a *proto.Attr, at time.Time, since uint64) {
	if a.Mask == proto.AttrCommon {
		return
	}
	n := f.table.get(h)
	defer f.put(n)
	n.learnFound(f.user, a, at, since)
}

// lookup asks the server of a directory for the objects of a path from there. It returns at least one object, or an error.
func (f *FS) lookup(ctx context.Context, dir *inode, path []string) ([]found, error) {
	mark, since, at := f.names.mark(), f.table.changes.Load(), f.opt.Clock()
	var resp proto.LookupPathResp
	err := f.shown(ctx, dir, proto.MayExec, func(h *proto.Header) error {
		resp = proto.LookupPathResp{}
		req := &proto.LookupPathReq{
			Path: strings.Join(path, "/"), FS: f.cfg.ID, Start: dir.handle, Mask: lookupMask, Cred: f.cred(),
		}
		return f.call(ctx, dir.handle, h, req, &resp)
	})
	if s := status(err); s != proto.OK && s != proto.ENOENT && len(path) > 1 {
		return f.lookup(ctx, dir, path[:1]) // the error may be about a later name than the first
	}
	if err != nil {
		return nil, err
	}
	if len(resp.Handles) == 0 || len(resp.Handles) > len(path) || len(resp.Attrs) > len(resp.Handles) {
		return nil, proto.EPROTO
	}
	var all []found
	parent := dir.handle
	for i, h := range resp.Handles {
		to := found{handle: h}
		if i < len(resp.Attrs) {
			to.typ = resp.Attrs[i].Type
			f.found(h, &resp.Attrs[i], at, since)
		}
		f.names.add(f.user, parent, path[i], h, at, mark)
		all = append(all, to)
		parent = h
	}
	return all, nil
}

// onPath resolves a path and calls do. It starts again, once, if the object of a cached name no longer exists.
func (f *FS) onPath(ctx context.Context, path string, how manner, do func(p *place) error) error {
	for again := false; ; again = true {
		p, err := f.walk(ctx, path, how)
		if err != nil {
			return err
		}
		err = do(p)
		p.release()
		if again || !p.cached || status(err) != proto.ENOENT {
			return err
		}
		f.names.clear()
	}
}

// onNode is onPath for an object that must exist.
func (f *FS) onNode(ctx context.Context, path string, how manner, do func(p *place) error) error {
	return f.onPath(ctx, path, how, func(p *place) error {
		if p.node == nil {
			p.cached = false // a server said so
			return proto.ENOENT
		}
		return do(p)
	})
}

// onNew is onPath for a name that do gives to a new object. EEXIST: the name exists. This error comes before all others.
func (f *FS) onNew(ctx context.Context, path string, do func(p *place) error) error {
	return f.onPath(ctx, path, isNew, func(p *place) error {
		if p.node != nil {
			return proto.EEXIST
		}
		err := do(p)
		if s := status(err); p.guessed && s != proto.OK && s != proto.EEXIST {
			if _, free := f.lookup(ctx, p.dir(), []string{p.name}); free == nil {
				return proto.EEXIST
			}
		}
		return err
	})
}
