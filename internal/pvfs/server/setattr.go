package server

import (
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// setAttr changes attributes of an object.
func (s *Server) setAttr(q *query, req *proto.SetAttrReq) (*proto.SetAttrResp, error) {
	if req.Attr.Mask&proto.AttrDistDir != 0 && req.Attr.Type == proto.TypeDirdata {
		defer s.locks.alone(req.Handle)() // it may be dividing now
	}
	if req.Attr.Mask&settable == 0 && !q.Server() {
		_, err := s.object(req.Handle)
		return &proto.SetAttrResp{}, err
	}
	var made proto.Handle
	err := s.update(q, func(tx *store.Tx) error {
		o, err := tx.Get(req.Handle)
		if err != nil {
			return err
		}
		a, before := req.Attr, o
		if o.Type != proto.TypeNone && a.Type != proto.TypeNone && o.Type != a.Type {
			return proto.EACCES
		}
		if a, err = rights.SetAttr(q.Asker, rightsTo(&o), s.fresh(&o), a); err != nil {
			return err
		}
		if err := s.apply(q, &o, &a); err != nil {
			return err
		}
		if err := s.applyNotice(tx, q, &o); err != nil {
			return err
		}
		narrows, open := rights.Narrows(rightsTo(&before), rightsTo(&o))
		if narrows && !q.Server() && s.fresh(&before) == rights.NotFresh {
			if err := s.noteNarrowed(tx, q, &o, open); err != nil {
				return err
			}
		}
		made = o.Parent
		return tx.Put(req.Handle, o)
	})
	if err != nil {
		return nil, err
	}
	s.noticeApplied(q, req.Handle, made)
	return &proto.SetAttrResp{}, nil
}

// fresh says whether an object is a symlink that BATCH_CREATE made for a client, which sends the target only now.
func (s *Server) fresh(o *store.Object) rights.Fresh {
	switch {
	case o.Type != proto.TypeSymlink || o.Perms != 0 || o.Target != "":
		return rights.NotFresh
	case s.signs():
		return rights.FreshOfOwner
	}
	return rights.FreshOfAnybody
}

// settable are the attributes that SETATTR changes. A request that names none of them changes nothing, but can be a notice.
const settable = proto.AttrUID | proto.AttrGID | proto.AttrPerm | proto.AttrATime | proto.AttrATimeSet | proto.AttrMTime | proto.AttrMTimeSet |
	proto.AttrCTime | proto.AttrTarget | proto.AttrDistDir | proto.AttrDist | proto.AttrDatafiles | proto.AttrMirror

// apply changes an object as the attributes say.
func (s *Server) apply(q *query, o *store.Object, a *proto.Attr) error {
	now := s.clock().Unix()
	if o.Type == proto.TypeSymlink && a.Mask&proto.AttrPerm != 0 && o.Perms != 0 && a.Perms&rights.ModeBits != o.Perms {
		return proto.EACCES
	}
	if a.Mask&proto.AttrUID != 0 {
		o.Owner = a.Owner
	}
	if a.Mask&proto.AttrGID != 0 {
		o.Group = a.Group
	}
	if a.Mask&proto.AttrPerm != 0 {
		o.Perms = a.Perms & rights.ModeBits
	}
	setTime(&o.ATime, a.Mask, proto.AttrATime, proto.AttrATimeSet, a.ATime, now)
	setTime(&o.MTime, a.Mask, proto.AttrMTime, proto.AttrMTimeSet, a.MTime, now)
	if a.Mask&(proto.AttrUID|proto.AttrGID|proto.AttrPerm|proto.AttrMTime|proto.AttrCTime) != 0 {
		o.CTime = now
	}
	switch o.Type {
	case proto.TypeSymlink:
		if a.Mask&proto.AttrTarget != 0 {
			if a.Target == "" || len(a.Target) >= proto.MaxPath {
				return proto.EINVAL
			}
			o.Target, o.Mask = a.Target, o.Mask|proto.AttrTarget
		}
	case proto.TypeDirectory, proto.TypeDirdata:
		if a.Mask&proto.AttrDistDir != 0 {
			return setDistDir(q, o, a.DistDir)
		}
	}
	return nil
}

// setTime sets a time to now, or to the time in the request.
func setTime(to *int64, mask, asked, given proto.AttrMask, value, now int64) {
	switch {
	case mask&asked == 0:
	case mask&given != 0:
		*to = value
	default:
		*to = now
	}
}

// setDistDir changes the set of objects that a directory is spread over. Only other servers send this. A directory only adds
// objects that are in use; a dirdata object takes the state of a division. A frozen dirdata object accepts it only from its own
// directory.
func setDistDir(q *query, o *store.Object, d proto.DistDir) error {
	if len(d.Dirdata) > dirdataMax || len(d.Bitmap) == 0 || len(d.Bitmap) > (dirdataMax+31)/32 || d.TreeHeight > 31 {
		return proto.EINVAL
	}
	o.Mask |= proto.AttrDistDir
	if o.Type == proto.TypeDirectory {
		if len(o.DistDir.Dirdata) != len(d.Dirdata) {
			if len(o.DistDir.Dirdata) != 0 {
				return proto.EINVAL
			}
			o.DistDir = d
			return nil
		}
		words := append([]uint32(nil), o.DistDir.Bitmap...)
		for i := range words {
			if i < len(d.Bitmap) {
				words[i] |= d.Bitmap[i]
			}
		}
		o.DistDir.Bitmap = words
		o.DistDir.BranchLevel = levelOf(&o.DistDir, int(o.DistDir.ServerNo))
		return nil
	}
	if o.Parent == 0 {
		o.Parent = q.near()
	}
	switch known := len(o.DistDir.Dirdata) > 0; {
	case known && d.TreeHeight < 0:
		o.DistDir.TreeHeight = frozen
	case known && o.DistDir.TreeHeight < 0 && q.near() != o.Parent:
		return proto.EBUSY
	case known && o.DistDir.TreeHeight < 0:
		o.DistDir.TreeHeight = d.TreeHeight
	default:
		o.DistDir = d
	}
	return nil
}
