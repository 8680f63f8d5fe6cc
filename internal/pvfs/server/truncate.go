package server

import (
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// truncate sets the size of a datafile.
func (s *Server) truncate(q *query, req *proto.TruncateReq) (*proto.TruncateResp, error) {
	if req.Size < 0 {
		return nil, proto.EINVAL
	}
	data, err := s.openData(q, req.Handle, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = data.Close() }()
	if err = data.Truncate(req.Size); err == nil && s.store.SyncsData() {
		err = data.Sync()
	}
	if err != nil {
		return nil, err
	}
	return &proto.TruncateResp{}, nil
}
