package server

import (
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Positions and flags of MGMT_ITERATE_HANDLES. Other positions are handles; for reserved handles they are reservedBit and a
// count.
const (
	iterateStart    = proto.TokenStart
	iterateEnd      = proto.TokenEnd
	iterateReserved = 1
	reservedBit     = 1 << 32
)

// iterateHandles lists the objects of this server, or the handles in its pools.
func (s *Server) iterateHandles(_ *query, req *proto.IterateHandlesReq) (*proto.IterateHandlesResp, error) {
	if req.Count <= 0 || req.Count > proto.MaxHandles || req.Flags&^iterateReserved != 0 {
		return nil, proto.EINVAL
	}
	resp := &proto.IterateHandlesResp{Position: iterateEnd}
	if req.Position == iterateEnd {
		return resp, nil
	}
	err := s.store.View(func(tx *store.Tx) error {
		if req.Flags&iterateReserved != 0 {
			return reservedHandles(tx, req, resp)
		}
		return objectHandles(tx, req, resp)
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// objectHandles lists objects in handle order.
func objectHandles(tx *store.Tx, req *proto.IterateHandlesReq, resp *proto.IterateHandlesResp) error {
	from := proto.Handle(req.Position)
	if req.Position == iterateStart {
		from = 0
	}
	handles, next, err := tx.Handles(from, int(req.Count))
	if err != nil {
		return err
	}
	// A handle that looks like one of the two marks cannot be a position: continue from the handle before it.
	for (next == iterateStart || next == iterateEnd) && len(handles) > 0 {
		next, handles = handles[len(handles)-1], handles[:len(handles)-1]
	}
	resp.Handles = handles
	if next != 0 {
		resp.Position = uint64(next)
	}
	return nil
}

// reservedHandles lists the handles in the pools.
func reservedHandles(tx *store.Tx, req *proto.IterateHandlesReq, resp *proto.IterateHandlesResp) error {
	skip := uint64(0)
	if req.Position != iterateStart {
		skip = req.Position &^ reservedBit
	}
	at := uint64(0)
	for _, h := range tx.Pools() {
		if at++; at <= skip {
			continue
		}
		if len(resp.Handles) == int(req.Count) {
			resp.Position = reservedBit | (at - 1)
			return nil
		}
		resp.Handles = append(resp.Handles, h)
	}
	return nil
}
