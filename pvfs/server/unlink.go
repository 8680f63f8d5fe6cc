package server

import (
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/store"
)

// rmDirent removes an entry, and returns what it stood for. A client of ours that sends the hint has the object removed with
// it, in the same transaction if that is here, else soon, and is told whether that was done; see proto.HintRemoves.
func (s *Server) rmDirent(q *query, req *proto.RmDirentReq) (proto.Response, error) {
	if err := q.mayAll(proto.MayWrite|proto.MayExec, req.Dirdata); err != nil {
		return nil, err
	}
	if err := checkName(req.Name); err != nil {
		return nil, err
	}
	leave, err := s.enter(req.Dirdata)
	if err != nil {
		return nil, err
	}
	meant, hinted := q.header.Hints.Removes()
	object, to, moves := q.header.Hints.Moves()
	var was, from, made proto.Handle
	var renamed proto.NameChange
	plain := false
	away := hinted && s.mayLeave(meant)
	var mark proto.RemovedMark
	var others bool
	err = s.store.Update(func(tx *store.Tx) error {
		mark, others, plain, made = proto.MarkKept, false, false, 0
		dirdata, err := belongs(tx, req.Dirdata, req.Name)
		if err != nil {
			return err
		}
		if was, err = tx.Unlink(req.Dirdata, req.Name); err != nil {
			return err
		}
		from = dirdata.Parent
		if moves && object == was {
			return s.noteMoved(tx, q, from, was, to)
		}
		if renamed, plain = s.nameChange(q, was, from, true); plain {
			if made, err = s.followIn(tx, renamed); err != nil {
				return err
			}
		}
		if !hinted || was != meant {
			return nil
		}
		mark, others, err = s.deleteNamed(tx, q, dirdata.Parent, was, away)
		return err
	})
	leave()
	if err != nil {
		return nil, err
	}
	if others {
		s.trash.wake()
	}
	if moves && object == was {
		s.tellMoved(q, from, was, to)
	}
	if plain {
		s.nameChanged(q.ctx, renamed, made)
	}
	if hinted {
		return &proto.MarkedRmDirentResp{Handle: was, Mark: mark}, nil
	}
	return &proto.RmDirentResp{Handle: was}, nil
}

// mayLeave reports whether an object can be left to its server to remove: another one of ours.
func (s *Server) mayLeave(h proto.Handle) bool {
	owner, err := s.target(h)
	return err == nil && owner != s.me && s.isOurs(owner)
}

// deleteNamed removes the file or symlink of an entry of a directory that was removed in the same transaction. What is on another
// server is left to that if it may be (away): it takes the same look at it as with REMOVE. It keeps what
// is something else, or takes a closer look before it may be removed: REMOVE does that.
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
		return proto.MarkKept, false, nil // the name goes all the same, and REMOVE says what is wrong
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
