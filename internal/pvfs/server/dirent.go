package server

import (
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// checkName checks the name of a new entry.
func checkName(name string) error {
	switch {
	case len(name) > proto.MaxName:
		return proto.ENAMETOOLONG
	case name == "", name == ".", name == "..", strings.ContainsAny(name, "/\x00"):
		return proto.EINVAL
	}
	return nil
}

// belongs checks that a dirdata object of this server is the one for a name. EAGAIN: the name belongs to another object by now;
// the sender reads the directory again.
func belongs(tx *store.Tx, dirdata proto.Handle, name string) (store.Object, error) {
	o, err := tx.Get(dirdata)
	switch {
	case err != nil:
		return o, err
	case o.Type != proto.TypeDirdata:
		return o, proto.ENOTDIR
	case len(o.DistDir.Dirdata) == 0:
		return o, proto.EAGAIN // it is not part of a directory yet
	case bucketOf(&o.DistDir, name) != int(o.DistDir.ServerNo):
		return o, proto.EAGAIN
	}
	return o, nil
}

// crDirent adds an entry. A repeated request succeeds again.
func (s *Server) crDirent(q *query, req *proto.CrDirentReq) (*proto.CrDirentResp, error) {
	owner, leave, err := s.enterToLink(req.Dirdata, req.Name, req.New)
	if err != nil {
		return nil, err
	}
	full := false
	var dir, made proto.Handle
	err = s.update(q, func(tx *store.Tx) (err error) {
		dir, made, full, err = s.addEntry(tx, req, owner == s.me)
		return err
	})
	leave()
	if err != nil {
		return nil, err
	}
	if c, ok := s.nameChange(q, req.New, dir, false); ok {
		s.nameChanged(q.ctx, c, made)
	}
	if full {
		s.divideSoon(q.ctx, req.Dirdata)
	}
	return &proto.CrDirentResp{}, nil
}

// enterToLink prepares a change that makes a name in a dirdata object refer to an object. It checks that name and object are
// possible, and takes the shared lock of the dirdata object. owner is the object's server; leave gives the lock back.
func (s *Server) enterToLink(dirdata proto.Handle, name string, object proto.Handle) (owner int, leave func(), err error) {
	if err := checkName(name); err != nil {
		return 0, nil, err
	}
	if owner, err = s.target(object); err != nil {
		return 0, nil, err
	}
	leave, err = s.enter(dirdata)
	return owner, leave, err
}

// target checks the object of a new entry, and returns the server that owns it.
func (s *Server) target(h proto.Handle) (int, error) {
	owner, ok := s.fs.Owner(h)
	if h == 0 || !ok || s.fs.IsData(h) {
		return 0, proto.EINVAL
	}
	return owner, nil
}

// addEntry is the transaction of crDirent. dir is the directory. full says that the dirdata object must be divided. If the new
// object is on this server, its ctime is updated, because it was created or renamed just now, and made is the directory where it
// counts as made.
func (s *Server) addEntry(tx *store.Tx, req *proto.CrDirentReq, here bool) (dir, made proto.Handle, full bool, err error) {
	o, err := belongs(tx, req.Dirdata, req.Name)
	if err != nil {
		return 0, 0, false, err
	}
	dir = o.Parent
	if dir != 0 && req.Dir != 0 && dir != req.Dir {
		return 0, 0, false, proto.EINVAL
	}
	if err = tx.Link(req.Dirdata, req.Name, req.New); err != nil {
		if proto.StatusOf(err) == proto.EEXIST {
			if is, wrong := tx.Lookup(req.Dirdata, req.Name); wrong == nil && is == req.New {
				return dir, 0, false, nil
			}
		}
		return 0, 0, false, err
	}
	if here {
		if made, err = s.touch(tx, req.New, dir); err != nil {
			return 0, 0, false, err
		}
	}
	if split := int64(o.DistDir.SplitSize); split > 0 && dividesWith(&o.DistDir) >= 0 {
		state, err := tx.Dir(req.Dirdata)
		return dir, made, state.Count >= split, err
	}
	return dir, made, false, nil
}

// touch notes in an object of this server that it has got a name in directory dir. It updates the ctime. If the object does not
// count as made in any directory yet, it counts as made in dir. Otherwise that stays as it is: users may give names in their own
// directories to the objects of others, and must not be able to remove the objects by that. touch returns the directory where the
// object counts as made. ENOENT.
func (s *Server) touch(tx *store.Tx, h, dir proto.Handle) (made proto.Handle, err error) {
	o, err := tx.Get(h)
	if err != nil {
		return 0, err
	}
	switch o.Type {
	case proto.TypeMetafile, proto.TypeDirectory, proto.TypeSymlink:
	default:
		return 0, proto.EINVAL
	}
	now := s.clock().Unix()
	if o.CTime >= now && o.Parent != 0 {
		return o.Parent, nil
	}
	o.CTime = max(o.CTime, now)
	if o.Parent == 0 {
		o.Parent = dir
	}
	return o.Parent, tx.Put(h, o)
}

// chDirent makes an entry refer to another object, and returns the previous one.
func (s *Server) chDirent(q *query, req *proto.ChDirentReq) (*proto.ChDirentResp, error) {
	owner, leave, err := s.enterToLink(req.Dirdata, req.Name, req.New)
	if err != nil {
		return nil, err
	}
	resp := &proto.ChDirentResp{}
	var dir, made proto.Handle
	err = s.update(q, func(tx *store.Tx) error {
		o, err := belongs(tx, req.Dirdata, req.Name)
		dir = o.Parent
		if err == nil {
			resp.Old, err = tx.Relink(req.Dirdata, req.Name, req.New)
		}
		if err == nil && owner == s.me {
			made, err = s.touch(tx, req.New, dir)
		}
		return err
	})
	leave()
	if err != nil {
		return nil, err
	}
	if c, ok := s.nameChange(q, req.New, dir, false); ok {
		s.nameChanged(q.ctx, c, made)
	}
	return resp, nil
}
