package server

import (
	"context"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// moved is for the directory that an object is in now, as the sender says.
func moved() need {
	return need{
		object: "the directory that the object has moved to", rights: "that it is not inside the object",
		of: func(q *query) []proto.Handle {
			if _, to, ok := q.header.Hints.Moves(); ok {
				return []proto.Handle{to}
			}
			return nil
		},
		asked: func(s *Server, q *query, to proto.Handle) error {
			if !s.signs() {
				return nil // nobody is kept from anything
			}
			object, _, _ := q.header.Hints.Moves()
			facts, err := s.facts(q.ctx, object, rights.Identity{})
			switch {
			case proto.StatusOf(err) == proto.ENOENT:
				return nil // an entry may refer to no object
			case err != nil || facts.Type != proto.TypeDirectory:
				return err
			}
			around, err := s.isAround(q.ctx, object, to)
			if err == nil && around {
				err = proto.EINVAL
			}
			return err
		},
	}
}

// mayMove reports whether a query may say that an object of directory dir is in directory to now: it may if it may remove it from
// dir.
func (s *Server) mayMove(q *query, dir, to proto.Handle) bool {
	_, err := s.target(to)
	return err == nil && dir != 0 && q.near() == dir && q.may(proto.MayRemove, dir) == nil
}

// noteMoved notes in an object of this server that it is in directory to now. From then on the right to remove the object is the
// right to remove in that directory. It ignores objects of other servers.
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

// tellMoved tells the server of an object about its new directory, if that is another server. It waits for the answer. If there
// is none, a goroutine repeats the request later.
func (s *Server) tellMoved(q *query, dir, h, to proto.Handle) {
	owner, ok := s.fs.Owner(h)
	if !ok || owner == s.me || !s.mayMove(q, dir, to) {
		return
	}
	ctx, cancel := context.WithTimeout(q.ctx, tellPatience)
	defer cancel()
	s.giveSurely(ctx, notice{to: owner, near: dir, part: h, hint: proto.MovesHint(h, to)})
}
