package server

import (
	"context"
	"errors"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// credential is this server's own credential.
func (s *Server) credential() proto.Credential {
	return proto.Credential{
		Groups: []uint32{0}, Issuer: issuerPrefix + s.cfg.Alias,
		Timeout: s.clock().Add(s.fs.Security.CredentialTimeout),
	}
}

// header is the header of a request that this server sends about some handles. near is the handle of the hint, 0 for none.
func (s *Server) header(near proto.Handle, handles []proto.Handle) *proto.Header {
	h := &proto.Header{
		Capability: s.serverCapability(handles...),
		Hints:      proto.Hints{{Type: proto.HintServerID, Value: uint64(s.me)}},
	}
	if near != 0 {
		h.Hints = append(h.Hints, proto.Hint{Type: proto.HintHandle, Value: uint64(near)})
	}
	return h
}

// callWith sends a request about some handles to another server, by index.
func (s *Server) callWith(ctx context.Context, to int, near proto.Handle, handles []proto.Handle, req proto.Request, resp proto.Response) error {
	return s.call(ctx, to, s.header(near, handles), req, resp)
}

// callOwner sends a request about some handles to the server that owns the first of them, which may be this one.
func (s *Server) callOwner(ctx context.Context, near proto.Handle, handles []proto.Handle, req proto.Request, resp proto.Response) error {
	to, ok := s.fs.Owner(handles[0])
	if !ok {
		return proto.ENOENT
	}
	if to != s.me {
		return s.callWith(ctx, to, near, handles, req, resp)
	}
	q := &query{
		ctx: ctx, header: s.header(near, handles), req: req,
		Asker: rights.Asker{Who: rights.Identity{Groups: []uint32{0}}, Shows: s.ownRights(handles)},
	}
	got, err := s.part(q, req)
	if err != nil {
		return err
	}
	return copyResponse(resp, got)
}

// copyResponse handles the few types of response that callOwner is used for.
func copyResponse(to, from proto.Response) error {
	switch r := from.(type) {
	case *proto.GetAttrResp:
		if to, ok := to.(*proto.GetAttrResp); ok {
			*to = *r
			return nil
		}
	case *proto.ReadDirResp:
		if to, ok := to.(*proto.ReadDirResp); ok {
			*to = *r
			return nil
		}
	case *proto.GetDirentResp:
		if to, ok := to.(*proto.GetDirentResp); ok {
			*to = *r
			return nil
		}
	case *proto.SetAttrResp, *proto.SplitDirentResp, *proto.RemoveResp, *proto.CrDirentResp:
		return nil
	}
	return errors.New("server: a response that callOwner does not know")
}
