package server

import (
	"fmt"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/store"
)

// smallReadMax is the largest answer to a SMALL_IO read, bytes of data: what a stock client has
// room for.
const smallReadMax = proto.MaxUnexpected

// smallIO moves bytes of one datafile that fit in the request or the response.
func (s *Server) smallIO(q *query, req *proto.SmallIOReq) (*proto.SmallIOResp, error) {
	if err := q.mayIO(req.Handle, req.Type); err != nil {
		return nil, err
	}
	t, err := transferOf(req.Dist, req.ServerNr, req.ServerCt, req.Request, req.FileOffset, req.Aggregate)
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
	all, stored, err := t.bytes(q.ctx, size)
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
		return nil, fmt.Errorf("pvfs/server: %d bytes for %d of the datafile: %w", len(req.Data), all, proto.EINVAL)
	}
	rest := req.Data
	for r := range t.runs() {
		if _, err := data.WriteAt(rest[:r.len], r.phys); err != nil {
			return nil, err
		}
		rest = rest[r.len:]
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

// smallRead answers with the bytes, as far as the datafile reaches.
func (s *Server) smallRead(data *store.Data, t transfer, size, stored int64) (*proto.SmallIOResp, error) {
	if stored > smallReadMax {
		return nil, fmt.Errorf("pvfs/server: a small read of %d bytes: %w", stored, proto.EINVAL)
	}
	buffer := make([]byte, stored)
	filled := int64(0)
	for r := range t.runs() {
		want := min(r.len, stored-filled)
		if want == 0 {
			break
		}
		part := buffer[filled : filled+want]
		n, err := data.ReadAt(part, r.phys)
		if err != nil {
			return nil, err
		}
		clear(part[n:]) // it got shorter meanwhile
		filled += want
	}
	s.admin.perf.add(countRead, filled)
	s.admin.perf.add(countSmallRead, filled)
	return &proto.SmallIOResp{Type: proto.IORead, Size: size, Result: filled, Data: buffer}, nil
}
