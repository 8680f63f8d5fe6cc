package server

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// remove removes an object whose name is gone. The capability is its directory's. A client that sent the hint learns that
// nothing of the object is left.
func (s *Server) remove(q *query, req *proto.RemoveReq) (proto.Response, error) {
	if err := s.removeObject(q, req.Handle); err != nil {
		return nil, err
	}
	if _, hinted := q.header.Hints.Removes(); hinted {
		return &proto.MarkedRemoveResp{Mark: proto.MarkRemoved}, nil
	}
	return &proto.RemoveResp{}, nil
}

// batchRemove removes objects, and stops at the first one that it cannot remove.
func (s *Server) batchRemove(q *query, req *proto.BatchRemoveReq) (*proto.BatchRemoveResp, error) {
	if len(req.Handles) < 1 || len(req.Handles) > proto.MaxHandles {
		return nil, proto.EINVAL
	}
	for _, h := range req.Handles {
		if err := s.removeOne(q, h); err != nil {
			return nil, err
		}
	}
	return &proto.BatchRemoveResp{}, nil
}

// removed is for an object that is to be removed from the directory of the hint.
func (f field) removed() need {
	return need{object: f.name, rights: "made in that directory, or without a name and one's own", of: f.of, asked: (*Server).mayRemove}
}

// removeOne is removeObject for a query that has not asked for it by REMOVE.
func (s *Server) removeOne(q *query, h proto.Handle) error {
	if err := s.mayRemove(q, h); err != nil {
		return err
	}
	return s.removeObject(q, h)
}

// object reads an object of this server.
func (s *Server) object(h proto.Handle) (o store.Object, err error) {
	err = s.store.View(func(tx *store.Tx) (err error) {
		o, err = tx.Get(h)
		return err
	})
	return o, err
}

// removeObject removes an object of this server and its parts: a metafile's datafiles, a directory's dirdata objects. ENOTEMPTY.
func (s *Server) removeObject(q *query, h proto.Handle) error {
	if h == s.fs.Root {
		return proto.EBUSY
	}
	o, err := s.object(h)
	if err != nil {
		return err
	}
	switch o.Type {
	case proto.TypeDatafile:
		if !q.removesAny() {
			return nil // it is removed with its file
		}
		if !s.mayRemoveDatafile(q, &o) {
			return proto.EACCES
		}
	case proto.TypeMetafile:
		return s.removeFile(q, h)
	case proto.TypeDirectory:
		q.directory = true
		if n := len(o.DistDir.Dirdata); n > 1 {
			return s.removeSpread(q.ctx, h)
		}
		return s.update(q, func(tx *store.Tx) error { return deleteDirectory(tx, h) })
	case proto.TypeDirdata:
		if !q.removesAny() {
			return proto.EPERM
		}
		return s.update(q, func(tx *store.Tx) error { return deleteDirdata(tx, h) })
	}
	return s.update(q, func(tx *store.Tx) error { return tx.Delete(h) })
}

// removesAny reports whether a query may remove objects of any directory. A server that removes objects on behalf of others, see
// leave, has no more rights than they.
func (q *query) removesAny() bool {
	if q.Server() {
		_, left := q.header.Hints.Removes()
		return !left
	}
	return q.Administrator()
}

// mayRemove checks that an object may be removed with the capability of this directory. It may if it counts as made there, see
// follow and noteMoved. Otherwise it must have no name any more in the directory where it counts as made, and, if capabilities
// are signed, the capability must be of the object's owner. EACCES.
func (s *Server) mayRemove(q *query, h proto.Handle) error {
	o, err := s.object(h)
	if err != nil {
		return err
	}
	switch o.Type {
	case proto.TypeMetafile, proto.TypeDirectory, proto.TypeSymlink:
	default:
		return nil
	}
	if o.Parent == 0 || o.Parent == q.near() || q.removesAny() {
		return nil
	}
	if s.signs() && (q.Server() || !q.Shows.Issue.Of(o.Owner)) {
		return proto.EACCES
	}
	named, err := s.names(q.ctx, o.Parent, h)
	if err == nil && named {
		err = proto.EACCES
	}
	return err
}

// names reports whether a directory, here or on another server, has an entry for an object.
func (s *Server) names(ctx context.Context, dir, object proto.Handle) (bool, error) {
	var got proto.GetAttrResp
	req := &proto.GetAttrReq{Handle: dir, FS: s.fs.ID, Mask: proto.AttrCommon | proto.AttrDistDir, Cred: s.credential()}
	err := s.callOwner(ctx, 0, []proto.Handle{dir}, req, &got)
	if proto.StatusOf(err) == proto.ENOENT {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, dirdata := range got.Attr.DistDir.Dirdata {
		for token := uint64(proto.TokenStart); token != proto.TokenEnd; {
			var part proto.ReadDirResp
			req := &proto.ReadDirReq{Dirdata: dirdata, FS: s.fs.ID, Count: proto.MaxReadDir, Token: token}
			err := s.callOwner(ctx, 0, []proto.Handle{dirdata}, req, &part)
			if proto.StatusOf(err) == proto.ENOENT {
				break
			}
			if err != nil {
				return false, err
			}
			for _, e := range part.Entries {
				if e.Handle == object {
					return true, nil
				}
			}
			token = part.Token
		}
	}
	return false, nil
}

// removeFile removes a metafile with its present datafiles. Those of other servers are removed in the background.
func (s *Server) removeFile(q *query, h proto.Handle) error {
	others := false
	err := s.update(q, func(tx *store.Tx) error {
		o, err := tx.Get(h)
		if err == nil {
			others, err = s.deleteFile(tx, &o)
		}
		return err
	})
	if err == nil && others {
		s.trash.wake()
	}
	return err
}

// deleteFile is the transaction of removeFile. others: there are datafiles of other servers, so call wake after the commit.
func (s *Server) deleteFile(tx *store.Tx, o *store.Object) (others bool, err error) {
	var away []proto.Handle
	for _, d := range o.Datafiles {
		if !s.ownedBy(d, s.me) {
			away = append(away, d)
			continue
		}
		if err := s.deleteDatafile(tx, d, o.Handle); err != nil && proto.StatusOf(err) != proto.ENOENT {
			return false, err
		}
	}
	if err := s.throwAwayOf(tx, o.Handle, away); err != nil {
		return false, err
	}
	return len(away) > 0, tx.Delete(o.Handle)
}

// deleteDatafile removes a datafile of this server with its metafile. It keeps a datafile that belongs to another metafile.
func (s *Server) deleteDatafile(tx *store.Tx, h, metafile proto.Handle) error {
	d, err := tx.Get(h)
	if err != nil {
		return err
	}
	if d.Parent != 0 && d.Parent != metafile {
		s.log.Warn("a metafile lists a datafile of another metafile, which is kept", "metafile", metafile, "datafile", h, "of", d.Parent)
		return nil
	}
	return tx.Delete(h)
}

// mayRemoveDatafile reports whether the sender of a query may remove a datafile: it is an administrator, or a server that names
// the datafile's metafile. The metafile of a datafile made in advance is not known before it gets bytes. If the sender names
// none, it must be the server that owns the metafile.
func (s *Server) mayRemoveDatafile(q *query, d *store.Object) bool {
	if d.Parent == 0 || !q.Server() {
		return true
	}
	if q.metafile != 0 {
		return q.metafile == d.Parent
	}
	owner, ok := s.fs.Owner(d.Parent)
	return ok && q.Shows.Issue.Server == owner
}

// deleteDirectory removes a directory whose dirdata object is here.
func deleteDirectory(tx *store.Tx, h proto.Handle) error {
	o, err := tx.Get(h)
	if err != nil {
		return err
	}
	if len(o.DistDir.Dirdata) > 1 {
		return proto.EAGAIN // it was spread only just now
	}
	for _, d := range o.DistDir.Dirdata {
		if err := tx.Delete(d); err != nil && proto.StatusOf(err) != proto.ENOENT {
			return err
		}
	}
	return tx.Delete(h)
}

// deleteDirdata removes a dirdata object that has no entries, or only copies that are not in use.
func deleteDirdata(tx *store.Tx, h proto.Handle) error {
	o, err := tx.Get(h)
	if err != nil {
		return err
	}
	if len(o.DistDir.Dirdata) > 0 && !inUse(&o.DistDir, int(o.DistDir.ServerNo)) {
		if err := clearDirdata(tx, h, &o); err != nil {
			return err
		}
	}
	return tx.Delete(h)
}

// A spread directory is removed in these steps. A record marks it meanwhile. After a crash before the last step, the dirdata
// objects are thawed.
//
//	freeze all its dirdata objects: they take no entries any more
//	count their entries: if there are any they thaw, and the directory stays
//	one transaction: the directory is gone, its dirdata objects are to be removed
const removePrefix = "rmdir/"

// removeSpread removes a directory with several dirdata objects.
func (s *Server) removeSpread(ctx context.Context, h proto.Handle) error {
	leave := s.removal.tryAlone(h)
	if leave == nil {
		return proto.EAGAIN // another request removes it
	}
	defer leave()
	var o store.Object
	key := fmt.Sprintf("%s%016x", removePrefix, uint64(h))
	if err := s.store.Update(func(tx *store.Tx) (err error) {
		if o, err = tx.Get(h); err != nil {
			return err
		}
		return tx.SetRecord(key, []byte{1})
	}); err != nil {
		return err
	}
	err := s.freeze(ctx, h, &o)
	if err == nil {
		err = s.countEntries(ctx, &o)
	}
	if err == nil {
		err = s.store.Update(func(tx *store.Tx) error {
			if err := s.throwAway(tx, o.DistDir.Dirdata); err != nil {
				return err
			}
			if err := tx.SetRecord(key, nil); err != nil {
				return err
			}
			return tx.Delete(h)
		})
		if err == nil {
			s.trash.wake()
			return nil
		}
	}
	if wrong := s.thaw(h); wrong != nil {
		s.log.Warn("a directory that could not be removed is not usable yet", "directory", h, "err", wrong)
		s.work.Go(func() { s.keepTrying(func() error { return s.thaw(h) }) })
	}
	return err
}

// each runs a function for all dirdata objects of a directory at once.
func each(dirdata []proto.Handle, do func(h proto.Handle) error) error {
	var all errgroup.Group
	for _, h := range dirdata {
		all.Go(func() error { return do(h) })
	}
	return all.Wait()
}

// freeze stops all changes of a directory's entries, or allows them again, depending on the height of the tree.
func (s *Server) freeze(ctx context.Context, dir proto.Handle, o *store.Object) error {
	d := o.DistDir
	d.TreeHeight = frozen
	return s.setHeight(ctx, dir, d)
}

func (s *Server) setHeight(ctx context.Context, dir proto.Handle, d proto.DistDir) error {
	return each(d.Dirdata, func(h proto.Handle) error {
		err := s.tellAttr(ctx, dir, h, proto.Attr{Type: proto.TypeDirdata, Mask: proto.AttrDistDir, DistDir: d})
		if proto.StatusOf(err) == proto.ENOENT {
			return nil
		}
		return err
	})
}

// countEntries checks that a directory has no entries. ENOTEMPTY.
func (s *Server) countEntries(ctx context.Context, o *store.Object) error {
	return each(o.DistDir.Dirdata, func(h proto.Handle) error {
		var resp proto.GetAttrResp
		req := &proto.GetAttrReq{Handle: h, FS: s.fs.ID, Mask: proto.AttrOfDirdata, Cred: s.credential()}
		err := s.callOwner(ctx, 0, []proto.Handle{h}, req, &resp)
		switch {
		case proto.StatusOf(err) == proto.ENOENT:
			return nil
		case err == nil && resp.Attr.DirentCount > 0:
			return proto.ENOTEMPTY
		}
		return err
	})
}

// thaw makes a directory usable again that was about to be removed.
func (s *Server) thaw(dir proto.Handle) error {
	var o store.Object
	err := s.store.View(func(tx *store.Tx) (err error) {
		o, err = tx.Get(dir)
		return err
	})
	if err == nil {
		err = s.setHeight(s.ctx, dir, o.DistDir)
	}
	if err != nil && proto.StatusOf(err) != proto.ENOENT {
		return err
	}
	return s.store.Update(func(tx *store.Tx) error {
		return tx.SetRecord(fmt.Sprintf("%s%016x", removePrefix, uint64(dir)), nil)
	})
}

// mendRemovals thaws the directories that an earlier run was about to remove.
func (s *Server) mendRemovals() error {
	var dirs []proto.Handle
	err := s.store.View(func(tx *store.Tx) error {
		dirs = nil
		for key := range tx.Records(removePrefix) {
			if h := handleOf(key, removePrefix); h != 0 {
				dirs = append(dirs, h)
			}
		}
		return nil
	})
	errs := []error{err}
	for _, h := range dirs {
		func() {
			defer s.removal.alone(h)()
			errs = append(errs, s.thaw(h))
		}()
	}
	return errors.Join(errs...)
}
