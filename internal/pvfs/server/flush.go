package server

import (
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// flush syncs an object: its metadata and, for a datafile, its bytes.
func (s *Server) flush(q *query, req *proto.FlushReq) (*proto.FlushResp, error) {
	var kind proto.ObjType
	err := s.view(q, func(tx *store.Tx) (err error) {
		kind, err = tx.Type(req.Handle)
		return err
	})
	switch {
	case err != nil:
	case kind == proto.TypeNone:
		err = proto.ENOENT
	case kind == proto.TypeDatafile:
		if err = s.store.SyncDatafile(req.Handle); err == nil {
			err = s.store.Sync() // bytes without an object would belong to no file
		}
	default:
		err = s.store.Sync()
	}
	if err != nil {
		return nil, err
	}
	return &proto.FlushResp{}, nil
}
