package server

import (
	"strings"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/store"
)

// checkName checks a name that is to be an entry.
func checkName(name string) error {
	switch {
	case len(name) > proto.MaxName:
		return proto.ENAMETOOLONG
	case name == "", name == ".", name == "..", strings.ContainsAny(name, "/\x00"):
		return proto.EINVAL
	}
	return nil
}

// belongs checks that a dirdata object of this server is the one for a name. EAGAIN: another is, by
// now; the sender looks at the directory again.
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

// crDirent adds an entry. A request that is repeated succeeds again.
func (s *Server) crDirent(q *query, req *proto.CrDirentReq) (*proto.CrDirentResp, error) {
	owner, leave, err := s.enterToLink(q, req.Dirdata, req.Name, req.New)
	if err != nil {
		return nil, err
	}
	full := false
	err = s.store.Update(func(tx *store.Tx) (err error) {
		full, err = s.addEntry(tx, req, owner == s.me)
		return err
	})
	leave()
	if err != nil {
		return nil, err
	}
	if full {
		s.divideSoon(q.ctx, req.Dirdata)
	}
	return &proto.CrDirentResp{}, nil
}

// enterToLink does what comes before a name in a dirdata object is made to stand for an object: it
// checks that the query may do that and that name and object are possible, and waits for those who need the
// dirdata object alone. owner is the object's server; leave ends it.
func (s *Server) enterToLink(q *query, dirdata proto.Handle, name string, object proto.Handle) (owner int, leave func(), err error) {
	if err := q.mayAll(proto.MayWrite|proto.MayExec, dirdata); err != nil {
		return 0, nil, err
	}
	if err := checkName(name); err != nil {
		return 0, nil, err
	}
	if owner, err = s.target(object); err != nil {
		return 0, nil, err
	}
	leave, err = s.enter(dirdata)
	return owner, leave, err
}

// target checks the handle that an entry is to stand for, and returns its owner.
func (s *Server) target(h proto.Handle) (int, error) {
	owner, ok := s.fs.Owner(h)
	if h == 0 || !ok || s.fs.IsData(h) {
		return 0, proto.EINVAL
	}
	return owner, nil
}

// addEntry is the transaction of crDirent. full: the dirdata object is to be divided. The time of change
// of the object moves on if it is here: it was created just now, or is renamed.
func (s *Server) addEntry(tx *store.Tx, req *proto.CrDirentReq, here bool) (full bool, err error) {
	o, err := belongs(tx, req.Dirdata, req.Name)
	if err != nil {
		return false, err
	}
	if o.Parent != 0 && req.Dir != 0 && o.Parent != req.Dir {
		return false, proto.EINVAL
	}
	if err = tx.Link(req.Dirdata, req.Name, req.New); err != nil {
		if proto.StatusOf(err) == proto.EEXIST {
			if is, wrong := tx.Lookup(req.Dirdata, req.Name); wrong == nil && is == req.New {
				return false, nil
			}
		}
		return false, err
	}
	if here {
		if err := s.touch(tx, req.New, o.Parent); err != nil {
			return false, err
		}
	}
	if split := int64(o.DistDir.SplitSize); split > 0 && dividesWith(&o.DistDir) >= 0 {
		dir, err := tx.Dir(req.Dirdata)
		return dir.Count >= split, err
	}
	return false, nil
}

// touch notes in an object of this server that it has a name in a directory now: it changed, and may be removed from there if
// nobody knows where it was made. Else that directory stays the one that mayRemove asks: everybody may give names in his own
// directory to what others made, and must not remove it then. ENOENT.
func (s *Server) touch(tx *store.Tx, h, dir proto.Handle) error {
	o, err := tx.Get(h)
	if err != nil {
		return err
	}
	switch o.Type {
	case proto.TypeMetafile, proto.TypeDirectory, proto.TypeSymlink:
	default:
		return proto.EINVAL
	}
	now := s.clock().Unix()
	if o.CTime >= now && o.Parent != 0 {
		return nil
	}
	o.CTime = max(o.CTime, now)
	if o.Parent == 0 {
		o.Parent = dir
	}
	return tx.Put(h, o)
}

// chDirent lets an entry stand for another object, and returns the one before.
func (s *Server) chDirent(q *query, req *proto.ChDirentReq) (*proto.ChDirentResp, error) {
	owner, leave, err := s.enterToLink(q, req.Dirdata, req.Name, req.New)
	if err != nil {
		return nil, err
	}
	defer leave()
	resp := &proto.ChDirentResp{}
	err = s.store.Update(func(tx *store.Tx) error {
		o, err := belongs(tx, req.Dirdata, req.Name)
		if err == nil {
			resp.Old, err = tx.Relink(req.Dirdata, req.Name, req.New)
		}
		if err == nil && owner == s.me {
			err = s.touch(tx, req.New, o.Parent)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}
