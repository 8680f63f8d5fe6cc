package server

import (
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/store"
)

// tellMovedMax is how many other servers are told at a time of objects that were moved. One that does not answer must not hold up renames;
// who is not told looks for the old name when the object is removed.
const tellMovedMax = 64

// mayMove reports whether a query may say that an object of a directory is in another one now: it may remove it from where it was.
func (s *Server) mayMove(q *query, dir, to proto.Handle) bool {
	_, err := s.target(to)
	return err == nil && dir != 0 && q.near() == dir && q.may(proto.MayRemove, dir) == nil
}

// noteMoved notes in an object, if it is of this server, that it is in another directory than the one where its name was removed: who may
// remove it is who may do so there.
func (s *Server) noteMoved(tx *store.Tx, q *query, dir, h, to proto.Handle) error {
	if !s.ownedBy(h, s.me) || !s.mayMove(q, dir, to) {
		return nil
	}
	o, err := tx.Get(h)
	if err != nil || o.Parent != dir {
		return nil
	}
	switch o.Type {
	case proto.TypeMetafile, proto.TypeDirectory, proto.TypeSymlink:
		o.Parent = to
		return tx.Put(h, o)
	}
	return nil
}

// tellMoved has the server of an object note that, in the background, if it is another one.
func (s *Server) tellMoved(q *query, dir, h, to proto.Handle) {
	if s.ownedBy(h, s.me) || !s.mayMove(q, dir, to) {
		return
	}
	if s.moves.Add(1) > tellMovedMax {
		s.moves.Add(-1)
		return
	}
	s.work.Go(func() {
		defer s.moves.Add(-1)
		owner, ok := s.fs.Owner(h)
		if !ok {
			return
		}
		header := s.header(dir, []proto.Handle{h})
		header.Hints = append(header.Hints, proto.MovesHint(h, to))
		req := &proto.SetAttrReq{Handle: h, FS: s.fs.ID, Cred: s.credential()}
		if err := s.call(s.ctx, owner, header, req, &proto.SetAttrResp{}); err != nil {
			s.log.Debug("a server was not told of an object that was moved", "object", h, "err", err)
		}
	})
}
