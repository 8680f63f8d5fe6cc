package server

import (
	"math"
	"strconv"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// attrOps are the operations on attributes.
var attrOps = map[proto.Op]*operation{
	proto.OpGetAttr: reads(on((*Server).getAttr), object(objectName, func(r *proto.GetAttrReq) proto.Handle { return r.Handle }).known()),
	proto.OpListAttr: reads(on((*Server).listAttr),
		objects("the objects", func(r *proto.ListAttrReq) []proto.Handle { return r.Handles }).shownAny().strictly()),
	proto.OpSetAttr: changes(on((*Server).setAttr), object(objectName, func(r *proto.SetAttrReq) proto.Handle { return r.Handle }).listed().
		and("set attributes, for times alone write or read; what chown(2) and chmod(2) ask for; for a new symlink to have made it")),
	proto.OpUnstuff:     changes(on((*Server).unstuff), object("the file", func(r *proto.UnstuffReq) proto.Handle { return r.Handle }).any(proto.MayWrite)),
	proto.OpGetEattr:    reads(on((*Server).getEattr), xattrsRead()),
	proto.OpSetEattr:    changes(on((*Server).setEattr), xattrsSet()),
	proto.OpDelEattr:    changes(on((*Server).delEattr), object(objectName, func(r *proto.DelEattrReq) proto.Handle { return r.Handle }).byRequest(xattrText, xattrRights)),
	proto.OpListEattr:   reads(on((*Server).listEattr), object(objectName, func(r *proto.ListEattrReq) proto.Handle { return r.Handle }).listed().strictly()),
	proto.OpAtomicEattr: changes(on((*Server).atomicEattr), object(objectName, func(r *proto.AtomicEattrReq) proto.Handle { return r.Handle }).byRequest(xattrText, xattrRights)),
}

const objectName = "the object"

// getAttr returns the attributes of an object, and a capability for it if asked.
func (s *Server) getAttr(q *query, req *proto.GetAttrReq) (*proto.GetAttrResp, error) {
	resp := &proto.GetAttrResp{}
	if req.Mask&proto.AttrCapability != 0 {
		q.at = s.moment() // before anything is read
	}
	err := s.view(q, func(tx *store.Tx) error {
		o, err := tx.Get(req.Handle)
		if err != nil {
			return err
		}
		if req.Mask&proto.AttrTarget != 0 && o.Type == proto.TypeSymlink && o.Target == "" {
			return proto.ENOENT // it was made only just now
		}
		resp.Attr, err = s.attrOf(tx, req.Handle, &o, req.Mask)
		if err == nil && req.Mask&proto.AttrCapability != 0 {
			err = s.giveCapability(tx, req.Handle, &resp.Attr, q)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// listAttr returns the attributes of several objects, each with a status.
func (s *Server) listAttr(q *query, req *proto.ListAttrReq) (*proto.ListAttrResp, error) {
	n := len(req.Handles)
	if n > proto.MaxListAttr {
		return nil, proto.EINVAL
	}
	resp := &proto.ListAttrResp{Status: make([]proto.Status, n), Attrs: make([]proto.Attr, n)}
	err := s.view(q, func(tx *store.Tx) error {
		for i, h := range req.Handles {
			o, err := tx.Get(h)
			if err == nil {
				resp.Attrs[i], err = s.attrOf(tx, h, &o, req.Mask)
			}
			if err != nil {
				resp.Status[i], resp.Attrs[i] = proto.StatusOf(err), proto.Attr{}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// commonAttr returns the attributes that every object has.
func commonAttr(o *store.Object) proto.Attr {
	return proto.Attr{
		Owner: o.Owner, Group: o.Group, Perms: o.Perms, Type: o.Type, Mask: proto.AttrCommon,
		ATime: o.ATime, MTime: o.MTime, CTime: o.CTime,
	}
}

// attrOf returns the attributes for a request with this mask: always the common ones, and of the others those that the type has.
func (s *Server) attrOf(tx *store.Tx, h proto.Handle, o *store.Object, mask proto.AttrMask) (proto.Attr, error) {
	a := commonAttr(o)
	switch o.Type {
	case proto.TypeMetafile:
		err := s.metafileAttr(&a, o, mask)
		return a, err
	case proto.TypeDatafile:
		size, err := s.store.Size(h)
		a.Mask |= proto.AttrDatafileSize
		a.DatafileSize = size
		return a, err
	case proto.TypeDirectory:
		if mask&proto.AttrDistDir != 0 {
			a.Mask |= proto.AttrDistDir
			a.DistDir = o.DistDir
		}
		if mask&proto.AttrDirHint != 0 {
			a.Mask |= proto.AttrDirHint
			return a, dirHint(tx, h, &a.Hint)
		}
	case proto.TypeDirdata:
		dir, err := tx.Dir(h)
		if err != nil {
			return a, err
		}
		a.MTime = max(a.MTime, int64(dir.Version>>32))
		a.CTime = max(a.CTime, a.MTime)
		if mask&proto.AttrDirentCount != 0 {
			a.Mask |= proto.AttrDirentCount
			if inUse(&o.DistDir, int(o.DistDir.ServerNo)) || len(o.DistDir.Dirdata) == 0 {
				a.DirentCount = dir.Count // otherwise the entries are copies that a division left
			}
		}
	case proto.TypeSymlink:
		if mask&proto.AttrTarget != 0 && o.Target != "" {
			a.Mask |= proto.AttrTarget
			a.Target = o.Target
		}
	}
	return a, nil
}

// metafileAttr fills in the attributes of a metafile. For a stuffed file that includes the size.
func (s *Server) metafileAttr(a *proto.Attr, o *store.Object, mask proto.AttrMask) error {
	if mask&proto.AttrDist != 0 && o.Mask&proto.AttrDist != 0 {
		a.Mask |= proto.AttrDist
		a.Dist = o.Dist
	}
	if mask&proto.AttrDatafiles != 0 {
		a.Mask |= proto.AttrDatafiles
		a.Datafiles, a.Flags = o.Datafiles, o.Flags
	}
	if mask&proto.AttrMirror != 0 && o.Copies > 0 {
		a.Mask |= proto.AttrMirror
		a.Copies, a.Mirrors = o.Copies, o.Mirrors
	}
	if o.Mask&proto.AttrUnstuffed != 0 {
		a.Mask |= proto.AttrUnstuffed
		return nil
	}
	if len(o.Datafiles) == 0 {
		return nil
	}
	size, err := s.store.Size(o.Datafiles[0])
	a.StuffedSize = int32(min(size, math.MaxInt32))
	return err
}

// giveCapability adds a capability to attributes: the user's rights to the object and to the objects that the attributes list.
func (s *Server) giveCapability(tx *store.Tx, h proto.Handle, a *proto.Attr, q *query) error {
	if !q.Who.Known() {
		return proto.EINVAL
	}
	may, err := rightsOf(tx, h, a, q.Who)
	if err != nil {
		return err
	}
	more := a.Datafiles
	if a.Type == proto.TypeDirectory {
		more = a.DistDir.Dirdata
	}
	handles := make([]proto.Handle, 0, 1+len(more))
	handles = append(append(handles, h), more...)
	a.Mask |= proto.AttrCapability
	if held, ok := s.renewed(q, a.Owner, handles); ok {
		a.Capability = held
		return nil
	}
	open := q.header.Hints.Opens()
	if open {
		if opened, file := rights.Opened(a.Type, may); file {
			may = opened
		} else {
			open = false
		}
	}
	a.Capability = s.issue(q, rightsToAttr(a), open, may, handles)
	return nil
}

// dirHint reads the extended attributes, set by users, that new files of a directory inherit.
func dirHint(tx *store.Tx, dir proto.Handle, hint *proto.DirHint) error {
	get := func(name string) (string, error) {
		v, err := tx.Xattr(dir, "user.pvfs2."+name)
		if proto.StatusOf(err) == proto.ENODATA {
			err = nil
		}
		text, _, _ := strings.Cut(string(v), "\x00")
		return text, err
	}
	var datafiles, layout string
	for _, f := range []struct {
		name string
		to   *string
	}{
		{"dist_name", &hint.DistName}, {"dist_params", &hint.DistParams},
		{"num_dfiles", &datafiles}, {"layout", &layout},
	} {
		v, err := get(f.name)
		if err != nil {
			return err
		}
		*f.to = v
	}
	if n, err := strconv.ParseUint(datafiles, 10, 31); err == nil {
		hint.Datafiles = uint32(n)
	}
	if n, err := strconv.ParseInt(layout, 10, 32); err == nil && n >= 0 && n <= int64(proto.LayoutLocal) {
		hint.Layout = proto.LayoutAlgorithm(n)
	}
	return nil
}
