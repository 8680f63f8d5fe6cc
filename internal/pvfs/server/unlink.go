package server

import (
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// An unlinking is the removal of an entry by one RMDIRENT.
type unlinking struct {
	query *query
	req   *proto.RmDirentReq

	// The hints of the request.
	hinted bool // a client of ours wants the object meant to be removed with its name
	meant  proto.Handle
	away   bool // meant is left to another server
	moves  bool // a client of ours says that the object moved is in directory to now
	moved  proto.Handle
	to     proto.Handle

	// What the transaction found and did.
	was     proto.Handle // the object of the entry
	dir     proto.Handle // the directory
	changes bool         // servers must note change, because the client does not say what becomes of was
	change  proto.NameChange
	made    proto.Handle      // where was counts as made now
	mark    proto.RemovedMark // what became of meant
	trash   bool              // objects on other servers are to be removed
}

// rmDirent removes an entry, and returns its object. If a client of ours sends the hint, the object is removed too: in the same
// transaction if it is here, otherwise soon after. The answer says whether that was done; see proto.HintRemoves.
func (s *Server) rmDirent(q *query, req *proto.RmDirentReq) (proto.Response, error) {
	if err := checkName(req.Name); err != nil {
		return nil, err
	}
	u := s.unlinking(q, req)
	leave, err := s.enter(req.Dirdata)
	if err != nil {
		return nil, err
	}
	err = s.update(q, func(tx *store.Tx) error { return s.unlink(tx, u) })
	leave()
	if err != nil {
		return nil, err
	}
	s.unlinked(u)
	if u.hinted {
		return &proto.MarkedRmDirentResp{Handle: u.was, Mark: u.mark}, nil
	}
	return &proto.RmDirentResp{Handle: u.was}, nil
}

// unlinking takes the hints of a request.
func (s *Server) unlinking(q *query, req *proto.RmDirentReq) *unlinking {
	u := &unlinking{query: q, req: req}
	u.meant, u.hinted = q.header.Hints.Removes()
	u.moved, u.to, u.moves = q.header.Hints.Moves()
	u.away = u.hinted && s.mayLeave(u.meant)
	return u
}

// unlink is the transaction. It may run more than once.
func (s *Server) unlink(tx *store.Tx, u *unlinking) error {
	u.mark, u.trash, u.changes, u.made = proto.MarkKept, false, false, 0
	dirdata, err := belongs(tx, u.req.Dirdata, u.req.Name)
	if err != nil {
		return err
	}
	u.dir = dirdata.Parent
	if u.was, err = tx.Unlink(u.req.Dirdata, u.req.Name); err != nil {
		return err
	}
	if u.isMove() {
		return s.noteMoved(tx, u.query, u.dir, u.was, u.to)
	}
	if u.change, u.changes = s.nameChange(u.query, u.was, u.dir, true); u.changes {
		if u.made, err = s.followIn(tx, u.change); err != nil {
			return err
		}
	}
	if u.hinted && u.was == u.meant {
		u.mark, u.trash, err = s.deleteNamed(tx, u.query, u.dir, u.was, u.away)
	}
	return err
}

// isMove reports whether the entry that is removed is the old name of an object that the client has moved.
func (u *unlinking) isMove() bool { return u.moves && u.moved == u.was }

// unlinked does the work after the commit: it wakes the trash and tells other servers of changed names.
func (s *Server) unlinked(u *unlinking) {
	if u.trash {
		s.trash.wake()
	}
	if u.isMove() {
		s.tellMoved(u.query, u.dir, u.was, u.to)
	}
	if u.changes {
		s.nameChanged(u.query.ctx, u.change, u.made)
	}
}

// mayLeave reports whether the removal of an object can be left to its server: another server, and one of ours.
func (s *Server) mayLeave(h proto.Handle) bool {
	owner, err := s.target(h)
	return err == nil && owner != s.me && s.isOurs(owner)
}

// deleteNamed removes the file or symlink of an entry that was removed from a directory in the same transaction. If away, the
// object's server removes it, and checks the right as for REMOVE. Other objects, and those that need a closer check, are kept:
// the client removes them by REMOVE. others: objects on other servers are to be removed.
func (s *Server) deleteNamed(tx *store.Tx, q *query, dir, h proto.Handle, away bool) (mark proto.RemovedMark, others bool, err error) {
	switch {
	case dir == 0 || q.near() != dir || q.may(proto.MayRemove, dir) != nil:
		return proto.MarkKept, false, nil
	case away:
		return proto.MarkRemoved, true, s.leave(tx, h, dir)
	case !s.ownedBy(h, s.me):
		return proto.MarkKept, false, nil
	}
	o, err := tx.Get(h)
	switch {
	case proto.StatusOf(err) == proto.ENOENT:
		return proto.MarkRemoved, false, nil
	case err != nil:
		return proto.MarkKept, false, nil // the name is removed in any case, and REMOVE reports the error
	case o.Parent != dir:
		return proto.MarkKept, false, nil
	}
	switch o.Type {
	case proto.TypeMetafile:
		others, err = s.deleteFile(tx, &o)
	case proto.TypeSymlink:
		err = tx.Delete(h)
	default:
		return proto.MarkKept, false, nil
	}
	return proto.MarkRemoved, others, err
}
