package server

import (
	"context"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// The kind of another server. If a name is removed here, a server of ours can be asked to remove the file: it also removes the
// datafiles, and checks the rights to remove the file. A stock server would not check. A server is asked for its kind when the
// kind is first needed. The answer is dropped when the server stops answering, because another server may get its address.
const (
	kindUnknown int32 = iota
	kindAsked
	kindOurs
	kindOther
)

// isOurs reports whether another server is known to be one of ours. If its kind is not known, the server is asked in the
// background.
func (s *Server) isOurs(server int) bool {
	if _, _, err := s.peers.open(); err != nil {
		return false
	}
	kind := &s.peers.at[server].kind
	if kind.CompareAndSwap(kindUnknown, kindAsked) {
		s.work.Go(func() { _, _ = s.askKind(s.ctx, server) }) // if this fails, the next call asks again
	}
	return kind.Load() == kindOurs
}

// askKind asks another server whether it is one of ours.
func (s *Server) askKind(ctx context.Context, server int) (ours bool, err error) {
	header := s.header(0, nil)
	header.Hints = append(header.Hints, proto.RemovesHint(0))
	var resp proto.MarkedNoopResp
	if err := s.call(ctx, server, header, &proto.NoopReq{}, &resp); err != nil {
		s.forgetKind(server)
		return false, err
	}
	kind := kindOurs
	if resp.Mark == proto.MarkNone {
		kind = kindOther
	}
	s.peers.at[server].kind.Store(kind)
	return kind == kindOurs, nil
}

// forgetKind is called when a server does not answer.
func (s *Server) forgetKind(server int) {
	if _, _, err := s.peers.open(); err == nil {
		s.peers.at[server].kind.Store(kindUnknown)
	}
}
