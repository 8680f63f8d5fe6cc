package server

import (
	"context"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A server sends another one news of an object as a hint of a SETATTR that changes no attributes.

// A notice is news that one server sends another.
type notice struct {
	to   int          // the receiving server, by index
	near proto.Handle // handle of the hint that names the object it is about
	part proto.Handle // an object of the receiving server
	hint proto.Hint
}

// give sends the notice and waits for the answer. If the receiver's object no longer exists, there is nothing to do.
func (s *Server) give(ctx context.Context, n notice) error {
	header := s.header(n.near, []proto.Handle{n.part})
	header.Hints = append(header.Hints, n.hint)
	err := s.call(ctx, n.to, header, &proto.SetAttrReq{Handle: n.part, FS: s.fs.ID, Cred: s.credential()}, &proto.SetAttrResp{})
	if proto.StatusOf(err) == proto.ENOENT {
		return nil
	}
	return err
}

// giveSurely is give, but goes on in the background until the server has received the notice. ctx ends after tellPatience.
func (s *Server) giveSurely(ctx context.Context, n notice) {
	err := s.give(ctx, n)
	if err == nil {
		return
	}
	log := s.log.With("server", s.fs.Servers[n.to].Alias, "object", n.near, "notice", n.hint.Name)
	if !unheard(err) {
		log.Warn("another server refused a notice", "err", err)
		return
	}
	if s.untold.Add(1) > tellLaterMax {
		s.untold.Add(-1)
		log.Warn("a notice for another server is dropped: too many are waiting", "err", err)
		return
	}
	log.Warn("a notice for another server will be sent again", "err", err)
	s.work.Go(func() {
		defer s.untold.Add(-1)
		s.keepTrying(func() error {
			if err := s.give(s.ctx, n); unheard(err) {
				return err
			}
			return nil
		})
	})
}

// unheard reports whether an error of a call says that the other server cannot take the notice at the moment.
func unheard(err error) bool {
	switch proto.StatusOf(err) {
	case proto.ETIMEDOUT, proto.EHOSTUNREACH, proto.EAGAIN:
		return true
	}
	return false
}

// applyNotice applies another server's notice to an object, in the transaction that reads the object and writes it back.
func (s *Server) applyNotice(tx *store.Tx, q *query, o *store.Object) error {
	if !q.Server() {
		return nil
	}
	if h, to, moves := q.header.Hints.Moves(); moves && h == o.Handle && o.Parent == q.near() {
		o.Parent = to
	}
	if c, ok := q.header.Hints.NameChange(); ok && c.Object == o.Handle {
		s.follow(o, c)
	}
	if q.header.Hints.Wrote() && o.Type == proto.TypeMetafile {
		s.endSetID(o)
	}
	if w, ok := q.header.Hints.Withdrawal(); ok {
		return s.noteWithdrawal(tx, w)
	}
	return nil
}

// noticeApplied is called after that commit. made is where the object counts as made now.
func (s *Server) noticeApplied(q *query, object, made proto.Handle) {
	if !q.Server() {
		return
	}
	if c, ok := q.header.Hints.NameChange(); ok && c.Object == object {
		s.followed(c, made)
	}
	if w, ok := q.header.Hints.Withdrawal(); ok {
		s.hold(w)
	}
}
