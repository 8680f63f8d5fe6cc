package server

import (
	"context"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// nameOps are the operations on names.
var nameOps = map[proto.Op]*operation{
	proto.OpGetConfig: reads(on((*Server).getConfig)),
	proto.OpLookupPath: reads(on((*Server).lookupPath),
		object("the first directory", func(r *proto.LookupPathReq) proto.Handle { return r.Start }).any(proto.MayExec)),
	proto.OpReadDir: reads(on((*Server).readDir),
		object(partName, func(r *proto.ReadDirReq) proto.Handle { return r.Dirdata }).any(proto.MayRead)),
	proto.OpGetDirent: reads(on((*Server).getDirent),
		object(partName, func(r *proto.GetDirentReq) proto.Handle { return r.Dirdata }).known()).by(serversAndAdministrators),
	proto.OpCrDirent: changes(on((*Server).crDirent),
		object(partName, func(r *proto.CrDirentReq) proto.Handle { return r.Dirdata }).all(mayChangeEntries),
		object(newName, func(r *proto.CrDirentReq) proto.Handle { return r.New }).linked(func(r proto.Request) proto.Handle { return r.(*proto.CrDirentReq).Dirdata })),
	proto.OpRmDirent: changes(on((*Server).rmDirent),
		object(partName, func(r *proto.RmDirentReq) proto.Handle { return r.Dirdata }).all(mayChangeEntries), moved()),
	proto.OpChDirent: changes(on((*Server).chDirent),
		object(partName, func(r *proto.ChDirentReq) proto.Handle { return r.Dirdata }).all(mayChangeEntries),
		object(newName, func(r *proto.ChDirentReq) proto.Handle { return r.New }).linked(func(r proto.Request) proto.Handle { return r.(*proto.ChDirentReq).Dirdata })),
	proto.OpSplitDirent: changes(on((*Server).splitDirent),
		object(partName, func(r *proto.SplitDirentReq) proto.Handle { return r.Dirdata }).listed(),
		objects("objects of the entries", func(r *proto.SplitDirentReq) []proto.Handle { return r.Handles }).known()).by(servers).managing(),
	proto.OpCreate: changes(on((*Server).create), around(parentName).any(proto.MayCreate)),
	proto.OpMkdir:  changes(on((*Server).mkdir), around(parentName).any(proto.MayCreate)),
	proto.OpCreateRootDir: changes(on((*Server).createRootDir),
		object("the root", func(r *proto.CreateRootDirReq) proto.Handle { return r.Handle }).known()).by(servers).managing(),
	proto.OpBatchCreate: changes(on((*Server).batchCreate), batchParent()),
	proto.OpBatchRemove: changes(on((*Server).batchRemove),
		objects("objects", func(r *proto.BatchRemoveReq) []proto.Handle { return r.Handles }).known()).by(serversAndAdministrators),
	proto.OpRemove: changes(on((*Server).remove), around(parentName).any(proto.MayRemove).hinted(),
		object("object", func(r *proto.RemoveReq) proto.Handle { return r.Handle }).removed()),
}

// Names of objects of several operations.
const (
	partName   = "the part of the directory"
	newName    = "the object of the name"
	parentName = "the directory of the hint"
)

// mayChangeEntries are the rights to a directory that a change of its names needs.
const mayChangeEntries = proto.MayWrite | proto.MayExec

// getConfig returns the configuration exactly as it was read.
func (s *Server) getConfig(*query, *proto.GetConfigReq) (*proto.GetConfigResp, error) {
	return &proto.GetConfigResp{Text: s.rules.Load().text}, nil
}

// A descent goes down a path.
type descent struct {
	q     *query
	mask  proto.AttrMask // wanted for the last name's object
	names []string
	at    proto.Handle // the directory of names[len(resp.Handles)]
	dir   store.Object
	resp  *proto.LookupPathResp
	ended bool // no further names can be looked up here
}

// lookupPath follows a path through the directories that this server owns. It succeeds if the first name was found. The last
// handle has no attributes if another server owns it.
func (s *Server) lookupPath(q *query, req *proto.LookupPathReq) (*proto.LookupPathResp, error) {
	names, err := segments(req.Path)
	if err != nil {
		return nil, err
	}
	d := &descent{q: q, mask: req.Mask, names: names, at: req.Start, resp: &proto.LookupPathResp{}}
	// Most paths stay on this server, and take one view of the store.
	err = s.view(q, func(tx *store.Tx) (err error) {
		if d.dir, err = tx.Get(req.Start); err != nil {
			return err
		}
		return s.descendHere(tx, d)
	})
	for err == nil && !d.ended {
		var h proto.Handle
		if h, err = s.enterAndFind(d); err == nil {
			q.objects = append(q.objects, h)
			err = s.view(q, func(tx *store.Tx) error { return s.found(tx, d, h) })
		}
	}
	if len(d.resp.Handles) == 0 {
		return nil, err
	}
	return d.resp, nil
}

// descendHere follows the path through directories whose dirdata objects are here and are not being divided.
func (s *Server) descendHere(tx *store.Tx, d *descent) error {
	for !d.ended {
		if d.dir.Type != proto.TypeDirectory {
			return proto.ENOTDIR
		}
		name := d.names[len(d.resp.Handles)]
		i := bucketOf(&d.dir.DistDir, name)
		if i < 0 || i >= len(d.dir.DistDir.Dirdata) || !s.ownedBy(d.dir.DistDir.Dirdata[i], s.me) {
			return nil
		}
		if len(d.resp.Handles) > 0 { // the capability does not cover this directory
			if err := mayEnter(tx, d.q, d.at, &d.dir); err != nil {
				return err
			}
		}
		h, _, err := lookupIn(tx, d.dir.DistDir.Dirdata[i], name)
		if proto.StatusOf(err) == proto.EAGAIN {
			return nil
		}
		if err == nil {
			err = s.found(tx, d, h)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// enterAndFind looks up the next name, on this server or another.
func (s *Server) enterAndFind(d *descent) (proto.Handle, error) {
	if d.dir.Type != proto.TypeDirectory {
		return 0, proto.ENOTDIR
	}
	if len(d.resp.Handles) > 0 {
		if err := s.store.View(func(tx *store.Tx) error { return mayEnter(tx, d.q, d.at, &d.dir) }); err != nil {
			return 0, err
		}
	}
	return s.find(d.q.ctx, d.at, &d.dir, d.names[len(d.resp.Handles)])
}

// found adds the object of the next name. An object of another server has no attributes.
func (s *Server) found(tx *store.Tx, d *descent, h proto.Handle) error {
	d.resp.Handles = append(d.resp.Handles, h)
	d.ended = true
	if !s.ownedBy(h, s.me) {
		return nil
	}
	o, err := tx.Get(h)
	if err != nil {
		return err
	}
	last := len(d.resp.Handles) == len(d.names)
	mask := proto.AttrCommon
	if last && len(o.Datafiles)+len(o.Mirrors) <= lookupDatafilesMax {
		mask |= d.mask & (proto.AttrDist | proto.AttrDatafiles | proto.AttrMirror | proto.AttrTarget)
	}
	var a proto.Attr
	if mask == proto.AttrCommon {
		a = commonAttr(&o)
	} else if a, err = s.attrOf(tx, h, &o, mask); err != nil {
		return err
	}
	d.resp.Attrs = append(d.resp.Attrs, a)
	d.ended = last || o.Type != proto.TypeDirectory
	d.at, d.dir = h, o
	return nil
}

// segments splits a path into names.
func segments(path string) ([]string, error) {
	if len(path) > proto.MaxPath {
		return nil, proto.ENAMETOOLONG
	}
	names := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	switch {
	case len(names) == 0:
		return nil, proto.ENOENT
	case len(names) > proto.MaxSegments:
		return nil, proto.ENAMETOOLONG
	}
	for _, name := range names {
		if len(name) > proto.MaxName {
			return nil, proto.ENAMETOOLONG
		}
	}
	return names, nil
}

// mayEnter checks that the user of a query may look up names in a directory.
func mayEnter(tx *store.Tx, q *query, at proto.Handle, dir *store.Object) error {
	may, err := rightsOf(tx, at, &dir.Attr, q.Who)
	if err == nil && may&proto.MayExec == 0 {
		err = proto.EACCES
	}
	return err
}

// find looks a name up in a directory of this server: in the dirdata object that has it, here or on another server. dir is the
// directory as last read; find reads it again if it was divided since.
func (s *Server) find(ctx context.Context, at proto.Handle, dir *store.Object, name string) (proto.Handle, error) {
	i := bucketOf(&dir.DistDir, name)
	for try := 0; ; try++ {
		if i < 0 || i >= len(dir.DistDir.Dirdata) {
			return 0, proto.EIO
		}
		h, moved, err := s.findIn(ctx, dir.DistDir.Dirdata[i], name)
		if proto.StatusOf(err) != proto.EAGAIN || try == findTries {
			return h, err
		}
		if moved >= 0 && moved != i {
			i = moved
			continue
		}
		if !pause(ctx, findDelay<<try) {
			return 0, ctx.Err()
		}
		if err := s.store.View(func(tx *store.Tx) (err error) {
			*dir, err = tx.Get(at)
			return err
		}); err != nil {
			return 0, err
		}
		i = bucketOf(&dir.DistDir, name)
	}
}

// findIn looks a name up in one dirdata object. EAGAIN: the name belongs to another one, whose index is moved, or -1 if that is
// not known.
func (s *Server) findIn(ctx context.Context, dirdata proto.Handle, name string) (h proto.Handle, moved int, err error) {
	moved = -1
	owner, ok := s.fs.Owner(dirdata)
	if !ok {
		return 0, moved, proto.EIO
	}
	if owner != s.me {
		var resp proto.GetDirentResp
		req := &proto.GetDirentReq{Dirdata: dirdata, FS: s.fs.ID, Name: name}
		if err = s.callOwner(ctx, 0, []proto.Handle{dirdata}, req, &resp); err == nil {
			err = resp.Error.Err()
		}
		return resp.Handle, moved, err
	}
	err = s.store.View(func(tx *store.Tx) (err error) {
		h, moved, err = lookupIn(tx, dirdata, name)
		return err
	})
	return h, moved, err
}

// lookupIn looks a name up in a dirdata object of this server. EAGAIN: the name belongs to bucket moved.
func lookupIn(tx *store.Tx, dirdata proto.Handle, name string) (h proto.Handle, moved int, err error) {
	o, err := tx.Get(dirdata)
	switch {
	case err != nil:
		return 0, -1, err
	case o.Type != proto.TypeDirdata:
		return 0, -1, proto.ENOTDIR
	}
	if len(o.DistDir.Dirdata) > 1 && o.DistDir.TreeHeight >= 0 {
		if i := bucketOf(&o.DistDir, name); i != int(o.DistDir.ServerNo) {
			return 0, i, proto.EAGAIN
		}
	}
	h, err = tx.Lookup(dirdata, name)
	return h, -1, err
}

// getDirent looks a name up for another server.
func (s *Server) getDirent(q *query, req *proto.GetDirentReq) (*proto.GetDirentResp, error) {
	if err := checkName(req.Name); err != nil {
		return nil, err
	}
	resp := &proto.GetDirentResp{}
	err := s.view(q, func(tx *store.Tx) (err error) {
		resp.Handle, _, err = lookupIn(tx, req.Dirdata, req.Name)
		return err
	})
	resp.Error = proto.StatusOf(err)
	return resp, nil
}

// readDir lists entries of one dirdata object.
func (s *Server) readDir(q *query, req *proto.ReadDirReq) (*proto.ReadDirResp, error) {
	if req.Count > proto.MaxReadDir {
		return nil, proto.EINVAL
	}
	resp := &proto.ReadDirResp{}
	err := s.view(q, func(tx *store.Tx) error {
		dir, err := tx.Dir(req.Dirdata)
		if err != nil {
			return err
		}
		resp.Version, resp.Token = dir.Version, req.Token
		if req.Count == 0 {
			return nil
		}
		resp.Entries, resp.Token, err = tx.Entries(req.Dirdata, req.Token, int(req.Count))
		if err == nil && resp.Token == proto.TokenEnd && len(resp.Entries) == int(req.Count) {
			return noEarlyEnd(tx, req.Dirdata, resp)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// tokenLast is larger than the token of every entry.
const tokenLast = 1<<48 - 1

// noEarlyEnd removes the end mark from an answer with as many entries as were asked for, if the dirdata object is the first of
// several: stock clients would take the mark for the end of the whole directory. Without it they ask again.
func noEarlyEnd(tx *store.Tx, dirdata proto.Handle, resp *proto.ReadDirResp) error {
	o, err := tx.Get(dirdata)
	if err == nil && o.DistDir.ServerNo == 0 && len(o.DistDir.Dirdata) > 1 {
		resp.Token = tokenLast
	}
	return err
}
