package server

import (
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// batchCreate makes objects in advance for another server, or one symlink for a client.
func (s *Server) batchCreate(q *query, req *proto.BatchCreateReq) (*proto.BatchCreateResp, error) {
	if req.Count < 1 || req.Count > proto.MaxHandles {
		return nil, proto.EINVAL
	}
	space := store.MetaSpace
	switch req.Type {
	case proto.TypeDatafile:
		space = store.DataSpace
	case proto.TypeMetafile, proto.TypeDirectory, proto.TypeSymlink, proto.TypeDirdata:
	default:
		return nil, proto.EINVAL
	}
	for _, e := range req.Extents {
		if owner, ok := s.fs.Owner(e.First); !ok || owner != s.me || s.fs.IsData(e.First) != (space == store.DataSpace) {
			return nil, proto.EINVAL
		}
	}
	o := store.Object{Attr: proto.Attr{Type: req.Type, Mask: proto.AttrCommon}}
	if q.Shows.Proof == rights.Client {
		o.Parent = q.near()
		o.Owner = q.Shows.Issue.User // nobody else may say where it points to
	}
	resp := &proto.BatchCreateResp{}
	err := s.update(q, func(tx *store.Tx) error {
		resp.Handles = make([]proto.Handle, 0, req.Count)
		for range req.Count {
			h, err := tx.Create(space, o)
			if err != nil {
				return err
			}
			resp.Handles = append(resp.Handles, h)
		}
		return nil
	})
	if err == nil && req.Type == proto.TypeDatafile {
		// The other server may use them long after this, for files that it syncs without asking this server.
		err = s.store.Sync()
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// batchParent is what BATCH_CREATE needs: servers make everything, and a client one symlink. Stock clients use it for nothing
// else. EACCES.
func batchParent() need {
	n := around(parentName).any(proto.MayCreate)
	n.rights += ", for one symlink; servers: batch create"
	n.shown = func(s *Server, q *query, objects []proto.Handle) error {
		req := q.req.(*proto.BatchCreateReq)
		switch {
		case s.mayBeFromServer(q):
			return q.may(proto.MayBatchCreate)
		case req.Type != proto.TypeSymlink || req.Count > 1:
			return proto.EACCES
		}
		return q.may(proto.MayCreate, objects...)
	}
	return n
}
