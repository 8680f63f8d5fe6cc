package server

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A dirdata object that has many entries divides: half of them go to the next object of the directory, on another server. The
// division holds its lock alone until the directory knows.
//
//	           a record: copying          the other object has     a record: moved, the
//	           the other one is cleared   copies, and is in use    entries are gone here     the directory knows
//	 ──────────────┬───────────────────────────┬──────────────────────────┬────────────────────────┬─────────
//	 a crash here  │ undone: cleared again     │ undone: cleared again    │ finished               │ done
//
// Before the directory knows, only this server asks the other object for a name. Before "moved", this server has all names.

// Records of the store: the key is "split/" and the handle of the dirdata object, the value the state and the directory.
const (
	splitPrefix  = "split/"
	splitCopying = 1
	splitMoved   = 2
)

// splits has the dirdata objects whose next division must wait.
type splits struct {
	mu    sync.Mutex
	after map[proto.Handle]time.Time
}

// due reports whether a dirdata object may be divided now, and records the try.
func (l *splits) due(h proto.Handle, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.after[h]) {
		return false
	}
	if l.after == nil {
		l.after = map[proto.Handle]time.Time{}
	}
	l.after[h] = now.Add(splitRetry)
	return true
}

// done forgets a dirdata object.
func (l *splits) done(h proto.Handle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.after, h)
}

// divideSoon divides a dirdata object that has become too large, before the request that added an entry is answered. The entry is
// kept even if the division fails.
func (s *Server) divideSoon(ctx context.Context, dirdata proto.Handle) {
	if !s.splits.due(dirdata, s.clock()) {
		return
	}
	if _, err := s.divide(ctx, dirdata, true); err != nil {
		s.log.Warn("a directory was not divided", "dirdata", dirdata, "err", err)
		return
	}
	s.splits.done(dirdata)
}

// division is one division.
type division struct {
	from, dir proto.Handle
	to        proto.Handle
	bucket    int
	next      proto.DistDir // of from, after the division
	parent    store.Object  // from, as it is now
}

// divide divides a dirdata object of this server once. full: only if it is too large. It reports whether it divided.
func (s *Server) divide(ctx context.Context, from proto.Handle, full bool) (bool, error) {
	defer s.locks.alone(from)()
	d, err := s.planDivision(from, full)
	if d == nil || err != nil {
		return false, err
	}
	if err := s.store.Update(func(tx *store.Tx) error { return setSplit(tx, d.from, splitCopying, d.dir) }); err != nil {
		return false, err
	}
	if err := s.copyEntries(ctx, d); err != nil {
		s.undoDivision(ctx, d.from, d.to, d.dir)
		return false, err
	}
	if err := s.store.Update(func(tx *store.Tx) error { return d.move(tx) }); err != nil {
		s.undoDivision(ctx, d.from, d.to, d.dir)
		return false, err
	}
	if err := s.announce(ctx, d.from, d.dir); err != nil {
		s.log.Warn("the division of a directory is not recorded in the directory yet", "directory", d.dir, "err", err)
		s.work.Go(func() { s.keepTrying(func() error { return s.announce(s.ctx, d.from, d.dir) }) })
	}
	return true, nil
}

// planDivision decides which entries go where; nil if there is nothing to divide.
func (s *Server) planDivision(from proto.Handle, full bool) (*division, error) {
	var d *division
	err := s.store.View(func(tx *store.Tx) error {
		o, err := tx.Get(from)
		if err != nil {
			return err
		}
		i := dividesWith(&o.DistDir)
		if o.Type != proto.TypeDirdata || i < 0 || o.Parent == 0 {
			return nil
		}
		if dir, err := tx.Dir(from); err != nil || full && dir.Count < int64(o.DistDir.SplitSize) {
			return err
		}
		d = &division{from: from, dir: o.Parent, to: o.DistDir.Dirdata[i], bucket: i, next: o.DistDir, parent: o}
		use(&d.next, i, true)
		d.next = ofBucket(d.next, int(o.DistDir.ServerNo))
		return nil
	})
	return d, err
}

// copyEntries copies the entries to the other object, and puts that into use.
func (s *Server) copyEntries(ctx context.Context, d *division) error {
	if err := s.clearCopies(ctx, d.to, d.dir); err != nil {
		return err
	}
	moving, err := s.movingEntries(d)
	if err != nil {
		return err
	}
	for len(moving) > 0 {
		req := &proto.SplitDirentReq{FS: s.fs.ID, Dirdata: d.to, Dist: proto.Dist{Name: proto.DistBasic}}
		for size := 0; len(moving) > 0; moving = moving[1:] {
			e := moving[0]
			if size += 8 + 16 + len(e.Name); size > splitBytesMax {
				break
			}
			req.Handles, req.Names = append(req.Handles, e.Handle), append(req.Names, e.Name)
		}
		if err := s.callOwner(ctx, d.dir, []proto.Handle{d.to}, req, &proto.SplitDirentResp{}); err != nil {
			return err
		}
	}
	a := proto.Attr{Type: proto.TypeDirdata, Mask: proto.AttrDistDir | proto.AttrCTime, DistDir: ofBucket(d.next, d.bucket)}
	return s.tellAttr(ctx, d.from, d.to, a) // not on behalf of the directory: an object that is frozen stays frozen
}

// movingEntries are the entries that go to the other object.
func (s *Server) movingEntries(d *division) ([]proto.DirEntry, error) {
	var moving []proto.DirEntry
	err := s.store.View(func(tx *store.Tx) (err error) {
		moving, err = d.moving(tx)
		return err
	})
	return moving, err
}

func (d *division) moving(tx *store.Tx) ([]proto.DirEntry, error) {
	var moving []proto.DirEntry
	for e, err := range tx.AllEntries(d.from) {
		if err != nil {
			return nil, err
		}
		if bucketOf(&d.next, e.Name) == d.bucket {
			moving = append(moving, e)
		}
	}
	return moving, nil
}

// move is the transaction that hands the entries to the other object.
func (d *division) move(tx *store.Tx) error {
	moving, err := d.moving(tx)
	if err != nil {
		return err
	}
	for _, e := range moving {
		if _, err := tx.Unlink(d.from, e.Name); err != nil {
			return err
		}
	}
	o, err := tx.Get(d.from)
	if err != nil {
		return err
	}
	o.DistDir = d.next
	if err := tx.Put(d.from, o); err != nil {
		return err
	}
	return setSplit(tx, d.from, splitMoved, d.dir)
}

// announce tells the directory which objects are in use, and deletes the record of the division.
func (s *Server) announce(ctx context.Context, from, dir proto.Handle) error {
	var o store.Object
	err := s.store.View(func(tx *store.Tx) (err error) {
		o, err = tx.Get(from)
		return err
	})
	if err == nil {
		a := proto.Attr{Type: proto.TypeDirectory, Mask: proto.AttrDistDir, DistDir: o.DistDir}
		err = s.tellAttr(ctx, from, dir, a)
	}
	if err != nil && proto.StatusOf(err) != proto.ENOENT { // it was removed meanwhile
		return err
	}
	return s.store.Update(func(tx *store.Tx) error { return setSplit(tx, from, 0, 0) })
}

// clearCopies removes the entries of the other object of a division, and takes it out of use.
func (s *Server) clearCopies(ctx context.Context, to, dir proto.Handle) error {
	req := &proto.SplitDirentReq{FS: s.fs.ID, Dirdata: to, Dist: proto.Dist{Name: proto.DistBasic}, Undo: 1}
	return s.callOwner(ctx, dir, []proto.Handle{to}, req, &proto.SplitDirentResp{})
}

// undoDivision undoes a division that failed before its entries were moved.
func (s *Server) undoDivision(ctx context.Context, from, to, dir proto.Handle) {
	undo := func(ctx context.Context) error {
		if err := s.clearCopies(ctx, to, dir); err != nil && proto.StatusOf(err) != proto.ENOENT {
			return err
		}
		return s.store.Update(func(tx *store.Tx) error { return setSplit(tx, from, 0, 0) })
	}
	if err := undo(ctx); err != nil {
		s.log.Warn("a division is not undone yet", "dirdata", from, "err", err)
	}
}

func setSplit(tx *store.Tx, from proto.Handle, state byte, dir proto.Handle) error {
	key := fmt.Sprintf("%s%016x", splitPrefix, uint64(from))
	if state == 0 {
		return tx.SetRecord(key, nil)
	}
	return tx.SetRecord(key, binary.BigEndian.AppendUint64([]byte{state}, uint64(dir)))
}

// handleOf parses the handle at the end of a record's key.
func handleOf(key, prefix string) proto.Handle {
	var h uint64
	if _, err := fmt.Sscanf(strings.TrimPrefix(key, prefix), "%016x", &h); err != nil {
		return 0
	}
	return proto.Handle(h)
}

// mendSplits finishes or undoes the divisions that an earlier run began.
func (s *Server) mendSplits() error {
	type begun struct {
		from, dir proto.Handle
		state     byte
	}
	var all []begun
	if err := s.store.View(func(tx *store.Tx) error {
		all = nil
		for key, v := range tx.Records(splitPrefix) {
			if h := handleOf(key, splitPrefix); h != 0 && len(v) == 9 {
				all = append(all, begun{h, proto.Handle(binary.BigEndian.Uint64(v[1:])), v[0]})
			}
		}
		return nil
	}); err != nil {
		return err
	}
	var errs []error
	for _, b := range all {
		errs = append(errs, s.mendSplit(b.from, b.dir, b.state))
	}
	return errors.Join(errs...)
}

func (s *Server) mendSplit(from, dir proto.Handle, state byte) error {
	defer s.locks.alone(from)()
	if state == splitMoved {
		return s.announce(s.ctx, from, dir)
	}
	d, err := s.planDivision(from, false)
	if err == nil && d != nil {
		err = s.clearCopies(s.ctx, d.to, d.dir)
	}
	if err != nil && proto.StatusOf(err) != proto.ENOENT {
		return err
	}
	return s.store.Update(func(tx *store.Tx) error { return setSplit(tx, from, 0, 0) })
}

// splitDirent is the other side of a division: it takes entries, or removes all of them.
func (s *Server) splitDirent(q *query, req *proto.SplitDirentReq) (*proto.SplitDirentResp, error) {
	if len(req.Names) != len(req.Handles) {
		return nil, proto.EINVAL
	}
	defer s.locks.share(req.Dirdata)()
	err := s.update(q, func(tx *store.Tx) error {
		o, err := tx.Get(req.Dirdata)
		switch {
		case err != nil:
			return err
		case o.Type != proto.TypeDirdata:
			return proto.ENOTDIR
		case o.Parent != 0 && o.Parent != q.near():
			return proto.EINVAL
		}
		switch {
		case req.Undo != 0 && len(req.Names) == 0:
			return clearDirdata(tx, req.Dirdata, &o)
		case req.Undo != 0:
			return unlinkAll(tx, req.Dirdata, req.Names)
		}
		return linkAll(tx, req)
	})
	if err != nil {
		return nil, err
	}
	return &proto.SplitDirentResp{}, nil
}

// clearDirdata removes the entries of a dirdata object and takes it out of use.
func clearDirdata(tx *store.Tx, h proto.Handle, o *store.Object) error {
	var names []string
	for e, err := range tx.AllEntries(h) {
		if err != nil {
			return err
		}
		names = append(names, e.Name)
	}
	if err := unlinkAll(tx, h, names); err != nil {
		return err
	}
	if !inUse(&o.DistDir, int(o.DistDir.ServerNo)) {
		return nil
	}
	use(&o.DistDir, int(o.DistDir.ServerNo), false)
	return tx.Put(h, *o)
}

func unlinkAll(tx *store.Tx, h proto.Handle, names []string) error {
	for _, name := range names {
		if _, err := tx.Unlink(h, name); err != nil && proto.StatusOf(err) != proto.ENOENT {
			return err
		}
	}
	return nil
}

func linkAll(tx *store.Tx, req *proto.SplitDirentReq) error {
	for i, name := range req.Names {
		if err := checkName(name); err != nil {
			return err
		}
		err := tx.Link(req.Dirdata, name, req.Handles[i])
		if proto.StatusOf(err) == proto.EEXIST {
			_, err = tx.Relink(req.Dirdata, name, req.Handles[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}
