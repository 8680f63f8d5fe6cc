package server

import (
	"context"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/store"
)

// What a server has to tell another one of an object goes as a hint of a SETATTR that changes no attributes.

// A notice is what one server tells another.
type notice struct {
	to   int          // the server, by index
	near proto.Handle // of the hint that says what it is about
	part proto.Handle // an object of that server
	hint proto.Hint
}

// give tells it, and waits for the answer. Of an object that was removed there is nothing to tell.
func (s *Server) give(ctx context.Context, n notice) error {
	header := s.header(n.near, []proto.Handle{n.part})
	header.Hints = append(header.Hints, n.hint)
	err := s.call(ctx, n.to, header, &proto.SetAttrReq{Handle: n.part, FS: s.fs.ID, Cred: s.credential()}, &proto.SetAttrResp{})
	if proto.StatusOf(err) == proto.ENOENT {
		return nil
	}
	return err
}

// giveSurely is give that goes on in the background until the server hears it. It is called with a context that ends after tellPatience.
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
		log.Warn("another server will not hear a notice: too many are waiting", "err", err)
		return
	}
	log.Warn("another server will hear a notice later", "err", err)
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

// unheard reports whether an error of a call says that the other server could not take it for now.
func unheard(err error) bool {
	switch proto.StatusOf(err) {
	case proto.ETIMEDOUT, proto.EHOSTUNREACH, proto.EAGAIN:
		return true
	}
	return false
}

// hear takes what another server tells of an object, in the transaction that reads it and writes it back.
func (s *Server) hear(tx *store.Tx, q *query, o *store.Object) error {
	if !q.fromServer() {
		return nil
	}
	if h, to, moves := q.header.Hints.Moves(); moves && h == o.Handle && o.Parent == q.near() {
		o.Parent = to
	}
	if c, ok := q.header.Hints.NameChange(); ok && c.Object == o.Handle {
		s.follow(o, c)
	}
	if w, ok := q.header.Hints.Withdrawal(); ok {
		return s.noteWithdrawal(tx, w)
	}
	return nil
}

// heard is called after the commit. made is where the object counts as made now.
func (s *Server) heard(q *query, object, made proto.Handle) {
	if !q.fromServer() {
		return
	}
	if c, ok := q.header.Hints.NameChange(); ok && c.Object == object {
		s.followed(c, made)
	}
	if w, ok := q.header.Hints.Withdrawal(); ok {
		s.hold(w)
	}
}
