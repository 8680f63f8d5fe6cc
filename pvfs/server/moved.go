package server

import (
	"context"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/store"
)

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

// tellMoved has the server of an object note that, if it is another one. It waits for that, unless it does not answer: then it hears of it later.
func (s *Server) tellMoved(q *query, dir, h, to proto.Handle) {
	owner, ok := s.fs.Owner(h)
	if !ok || owner == s.me || !s.mayMove(q, dir, to) {
		return
	}
	ctx, cancel := context.WithTimeout(q.ctx, tellPatience)
	defer cancel()
	s.giveSurely(ctx, notice{to: owner, near: dir, part: h, hint: proto.MovesHint(h, to)})
}
