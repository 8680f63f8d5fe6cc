package server

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// smallIO moves bytes of one datafile that fit in the request or the response.
func (s *Server) smallIO(q *query, req *proto.SmallIOReq) (*proto.SmallIOResp, error) {
	t, err := transferOf(s.turn(q), req.Dist, req.ServerNr, req.ServerCt, req.Request, req.FileOffset, req.Aggregate)
	if err != nil {
		return nil, err
	}
	data, err := s.openData(q, req.Handle, req.Type == proto.IOWrite)
	if err != nil {
		return nil, err
	}
	defer func() { _ = data.Close() }()
	size, err := data.Size()
	if err != nil {
		return nil, err
	}
	all, stored, err := t.bytes(size)
	if err != nil {
		return nil, err
	}
	if req.Type == proto.IOWrite {
		return s.smallWrite(req, data, t, size, all)
	}
	return s.smallRead(data, t, size, stored)
}

// smallWrite writes the bytes of the request.
func (s *Server) smallWrite(req *proto.SmallIOReq, data *store.Data, t transfer, size, all int64) (*proto.SmallIOResp, error) {
	if all != int64(len(req.Data)) {
		return nil, fmt.Errorf("internal/pvfs/server: %d bytes for %d of the datafile: %w", len(req.Data), all, proto.EINVAL)
	}
	err := t.each(req.Data, func(part []byte, phys int64) error {
		_, err := data.WriteAt(part, phys)
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.store.SyncsData() {
		if err := data.Sync(); err != nil {
			return nil, err
		}
	}
	s.admin.perf.add(countWrite, all)
	s.admin.perf.add(countSmallWrite, all)
	return &proto.SmallIOResp{Type: proto.IOWrite, Size: size, Result: all}, nil
}

// smallRead answers with the bytes up to the end of the datafile.
func (s *Server) smallRead(data *store.Data, t transfer, size, stored int64) (*proto.SmallIOResp, error) {
	if stored > smallReadBytesMax {
		return nil, fmt.Errorf("internal/pvfs/server: a small read of %d bytes: %w", stored, proto.EINVAL)
	}
	buffer := make([]byte, stored)
	err := t.each(buffer, func(part []byte, phys int64) error {
		n, err := data.ReadAt(part, phys)
		clear(part[n:]) // it became shorter meanwhile
		return err
	})
	if err != nil {
		return nil, err
	}
	s.admin.perf.add(countRead, stored)
	s.admin.perf.add(countSmallRead, stored)
	return &proto.SmallIOResp{Type: proto.IORead, Size: size, Result: stored, Data: buffer}, nil
}
