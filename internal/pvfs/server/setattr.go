package server

import (
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// permBits are the bits of a mode that are kept.
const permBits = 07777

// setAttr changes attributes of an object.
func (s *Server) setAttr(q *query, req *proto.SetAttrReq) (*proto.SetAttrResp, error) {
	if err := q.may(0, req.Handle); err != nil {
		return nil, err
	}
	if req.Attr.Mask&proto.AttrDistDir != 0 && req.Attr.Type == proto.TypeDirdata {
		defer s.locks.alone(req.Handle)() // it may be dividing now
	}
	var made proto.Handle
	err := s.store.Update(func(tx *store.Tx) error {
		o, err := tx.Get(req.Handle)
		if err != nil {
			return err
		}
		a, before := req.Attr, o
		if o.Type != proto.TypeNone && a.Type != proto.TypeNone && o.Type != a.Type {
			return proto.EACCES
		}
		if err := maySet(q, &o, &a); err != nil {
			return err
		}
		if err := s.apply(q, &o, &a); err != nil {
			return err
		}
		if err := s.applyNotice(tx, q, &o); err != nil {
			return err
		}
		if !q.fromServer() && narrows(&before, &o) {
			if err := s.noteNarrowed(tx, q, &o); err != nil {
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

// isFresh reports whether an object is a symlink that BATCH_CREATE made for a client, which sends the target only now. The
// client's capability gives no right to it, since it had no owner.
func isFresh(o *store.Object) bool {
	return o.Type == proto.TypeSymlink && o.Owner == 0 && o.Perms == 0 && o.Target == ""
}

// rightsToSet lists the attributes that need a right, and the rights. One of them is enough.
var rightsToSet = []struct {
	attr   proto.AttrMask
	rights proto.OpMask
}{
	{proto.AttrUID | proto.AttrGID | proto.AttrPerm | proto.AttrTarget | proto.AttrATimeSet, proto.MaySetAttr},
	{proto.AttrMTime | proto.AttrMTimeSet | proto.AttrCTime, proto.MayWrite | proto.MaySetAttr},
	{proto.AttrATime, proto.MayRead | proto.MayWrite | proto.MaySetAttr},
}

// attrFixed are attributes that an object keeps from its creation: no sender may change them by SETATTR. If users could set the
// datafiles of a metafile, its capability would give them rights to the bytes of other files.
const attrFixed = proto.AttrDist | proto.AttrDatafiles | proto.AttrMirror

// maySet checks the request of SETATTR, and fills in the owner and group of the credential where the request names none.
func maySet(q *query, o *store.Object, a *proto.Attr) error {
	if a.Mask&attrFixed != 0 {
		return proto.EPERM
	}
	fresh := isFresh(o)
	if fresh && !q.fromServer() {
		ownByDefault(a)
	}
	if a.Mask&proto.AttrUID != 0 && a.Owner == anybody {
		a.Owner = q.who.uid
	}
	if a.Mask&proto.AttrGID != 0 && a.Group == anybody {
		if len(q.who.groups) == 0 {
			return proto.EINVAL
		}
		a.Group = q.who.groups[0]
	}
	if q.fromServer() {
		return nil
	}
	if a.Mask&proto.AttrDistDir != 0 {
		return proto.EPERM
	}
	if !fresh {
		for _, r := range rightsToSet {
			if a.Mask&r.attr != 0 && q.header.Capability.Mask&r.rights == 0 {
				return proto.EACCES
			}
		}
	}
	if q.administrator() || q.who.root() {
		return nil
	}
	return mayOwn(q.who, o, a, fresh)
}

// ownByDefault gives an object without owner and group those of the credential, unless the request names others.
func ownByDefault(a *proto.Attr) {
	if a.Mask&proto.AttrUID == 0 {
		a.Owner = anybody
	}
	if a.Mask&proto.AttrGID == 0 {
		a.Group = anybody
	}
	a.Mask |= proto.AttrUID | proto.AttrGID
}

// mayOwn checks a change of owner and group by a user other than root: the user may not give an object away, and may change the
// group only to one of its own.
func mayOwn(who identity, o *store.Object, a *proto.Attr, fresh bool) error {
	if a.Mask&(proto.AttrUID|proto.AttrGID) == 0 {
		return nil
	}
	if !fresh && o.Owner != who.uid {
		return proto.EPERM
	}
	if a.Mask&proto.AttrUID != 0 && a.Owner != who.uid {
		return proto.EPERM
	}
	if a.Mask&proto.AttrGID != 0 && (fresh || a.Group != o.Group) && !who.in(a.Group) {
		return proto.EPERM
	}
	return nil
}

// apply changes an object as the attributes say.
func (s *Server) apply(q *query, o *store.Object, a *proto.Attr) error {
	now := s.clock().Unix()
	if o.Type == proto.TypeSymlink && a.Mask&proto.AttrPerm != 0 && o.Perms != 0 && a.Perms&permBits != o.Perms {
		return proto.EACCES
	}
	if a.Mask&proto.AttrUID != 0 {
		o.Owner = a.Owner
	}
	if a.Mask&proto.AttrGID != 0 {
		o.Group = a.Group
	}
	if a.Mask&proto.AttrPerm != 0 {
		o.Perms = a.Perms & permBits
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
