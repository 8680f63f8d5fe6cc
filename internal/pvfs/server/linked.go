package server

import (
	"context"
	"crypto/hmac"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// depthMax is how deep directories can be nested, if one of them is to be moved.
const depthMax = 1000

// linked is for an object that is to get a name in the directory whose part the request names.
func (f field) linked(part func(proto.Request) proto.Handle) need {
	return need{
		object: f.name, rights: "to rename it, or to link it", of: f.of,
		asked: func(s *Server, q *query, object proto.Handle) error { return s.mayLink(q, object, part(q.req)) },
	}
}

// mayLink decides whether an object may get a name in the directory that a dirdata object is part of. It needs to know the user, so
// it refuses nothing where capabilities are not signed.
func (s *Server) mayLink(q *query, h, part proto.Handle) error {
	if q.Server() || !s.signs() {
		return nil
	}
	if _, err := s.target(h); err != nil {
		return err
	}
	who := q.User()
	if s.showsOwnFile(q, h, who) {
		return nil
	}
	of, err := s.object(part)
	if err != nil {
		return err
	}
	if of.Type != proto.TypeDirdata {
		return proto.ENOTDIR
	}
	facts, err := s.facts(q.ctx, h, who)
	if err != nil {
		return err
	}
	t := rights.Target{
		Object: rights.Object{Type: facts.Type, Owner: facts.Owner, Group: facts.Group, Mode: facts.Perms},
		Root:   h == s.fs.Root, Parent: facts.Parent, May: facts.May,
	}
	if t.Parent != of.Parent {
		if t.Parent != 0 {
			there, err := s.facts(q.ctx, t.Parent, who)
			if err != nil && proto.StatusOf(err) != proto.ENOENT {
				return err
			}
			t.MayThere = there.May
		}
		if t.Type == proto.TypeDirectory {
			if t.Around, err = s.isAround(q.ctx, h, of.Parent); err != nil {
				return err
			}
		}
	}
	return rights.Link(who, of.Parent, t)
}

// showsOwnFile reports whether a query shows a capability for a file that only its owner or root can have. The capability lists
// datafiles, so the object is a file.
func (s *Server) showsOwnFile(q *query, h proto.Handle, who rights.Identity) bool {
	c, ok := q.header.Hints.Shows()
	if !ok || len(c.Handles) < 2 || c.Handles[0] != h || c.FS != s.fs.ID || c.Mask&proto.MaySetAttr == 0 {
		return false
	}
	for _, part := range c.Handles[1:] {
		if !s.fs.IsData(part) {
			return false
		}
	}
	shown := rights.Shown(rights.Client, &c, s.issueOf(&c))
	return hmac.Equal(c.Signature, signature(s.keys.client, &c)) && !s.expired(c.Timeout) && !s.withdrawn(shown) &&
		shown.Issue.Of(who.UID) && shown.Any(proto.MaySetAttr, h)
}

// isAround reports whether an object is a directory, or one of the directories above it. EINVAL: there are too many.
func (s *Server) isAround(ctx context.Context, h, dir proto.Handle) (bool, error) {
	for range depthMax {
		if dir == h {
			return true, nil
		}
		if dir == s.fs.Root || dir == 0 {
			return false, nil
		}
		facts, err := s.facts(ctx, dir, rights.Identity{})
		if err != nil {
			return false, err
		}
		dir = facts.Parent
	}
	return false, proto.EINVAL
}

// facts returns what decides about an object of this or another server. The user may be unknown.
func (s *Server) facts(ctx context.Context, h proto.Handle, who rights.Identity) (proto.Facts, error) {
	owner, ok := s.fs.Owner(h)
	switch {
	case !ok:
		return proto.Facts{}, proto.ENOENT
	case owner == s.me:
		return s.factsHere(h, who)
	}
	header := s.header(0, []proto.Handle{h})
	if who.Known() {
		header.Hints = append(header.Hints, proto.UserHint(who.UID, who.Groups))
	}
	var resp proto.GetEattrResp
	req := &proto.GetEattrReq{Handle: h, FS: s.fs.ID, Keys: []string{proto.FactsKey}, Sizes: []int64{proto.MaxXattrValue}}
	if err := s.call(ctx, owner, header, req, &resp); err != nil {
		return proto.Facts{}, err
	}
	if len(resp.Values) != 1 {
		return proto.Facts{}, proto.EPROTO
	}
	return proto.ParseFacts(resp.Values[0])
}

// factsHere are the facts of an object of this server.
func (s *Server) factsHere(h proto.Handle, who rights.Identity) (f proto.Facts, err error) {
	err = s.store.View(func(tx *store.Tx) error {
		o, err := tx.Get(h)
		if err != nil {
			return err
		}
		f = proto.Facts{Type: o.Type, Owner: o.Owner, Group: o.Group, Perms: o.Perms, Parent: o.Parent}
		f.May, err = rightsOf(tx, h, &o.Attr, who)
		return err
	})
	return f, err
}

// tellFacts answers another server.
func (s *Server) tellFacts(q *query, h proto.Handle) (*proto.GetEattrResp, error) {
	uid, groups, _ := q.header.Hints.User()
	f, err := s.factsHere(h, rights.Identity{UID: uid, Groups: groups})
	if err != nil {
		return nil, err
	}
	return &proto.GetEattrResp{Values: [][]byte{f.Value()}, Errors: []proto.Status{proto.OK}}, nil
}
