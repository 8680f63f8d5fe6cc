package server

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

const (
	lostAndFound = "lost+found"
	rootPerms    = 0755

	rootRecord  = "root"  // of the store: the root directory is as the configuration says
	ownerRecord = "owner" // of the store: the server and file system that it belongs to
)

// makeRoot checks that the store belongs to this server, and makes the root directory if this server owns it. growRoot does the
// part that needs other servers.
func (s *Server) makeRoot() error {
	mine := s.cfg.Alias + " " + strconv.Itoa(int(s.fs.ID))
	var owner []byte
	there := false
	if err := s.store.View(func(tx *store.Tx) (err error) {
		if owner, err = tx.Record(ownerRecord); err != nil {
			return err
		}
		t, err := tx.Type(s.fs.Root)
		there = t == proto.TypeDirectory
		return err
	}); err != nil {
		return err
	}
	if owner != nil && string(owner) != mine {
		return fmt.Errorf("the store is of %q, not of %q", owner, mine)
	}
	here := s.ownedBy(s.fs.Root, s.me)
	if owner != nil && (there || !here) {
		return nil
	}
	return s.store.Update(func(tx *store.Tx) error {
		if here && !there {
			if err := s.insertRoot(tx); err != nil {
				return err
			}
		}
		return tx.SetRecord(ownerRecord, []byte(mine))
	})
}

// insertRoot makes the root directory on this server alone.
func (s *Server) insertRoot(tx *store.Tx) error {
	plan, err := s.planDir(0, 0, 0)
	if err != nil {
		return err
	}
	if _, err := tx.AddDirectory(s.fs.Root, s.newDirectory(), plan.split); err != nil {
		return err
	}
	if plan.total > 1 {
		return nil
	}
	root, err := tx.Get(s.fs.Root)
	if err != nil {
		return err
	}
	h, err := tx.AddDirectory(0, s.newDirectory(), plan.split)
	if err != nil {
		return err
	}
	if err := tx.Link(root.DistDir.Dirdata[0], lostAndFound, h); err != nil {
		return err
	}
	return tx.SetRecord(rootRecord, []byte{1})
}

// newDirectory is the initial state of the root and of lost+found. They belong to the server's user: root, or who tries a file
// system out. Others get folders of their own.
func (s *Server) newDirectory() store.Object {
	now := s.clock().Unix()
	return store.Object{
		Attr: proto.Attr{
			Type: proto.TypeDirectory, Mask: proto.AttrCommon, Perms: rootPerms, Owner: s.euid, Group: uint32(os.Getegid()),
			ATime: now, MTime: now, CTime: now,
		},
		Parent: s.fs.Root,
	}
}

// growRoot spreads the root directory over other servers, once, if the configuration says so.
func (s *Server) growRoot() error {
	if !s.ownedBy(s.fs.Root, s.me) {
		return nil
	}
	done := false
	if err := s.store.View(func(tx *store.Tx) error {
		v, err := tx.Record(rootRecord)
		done = v != nil
		return err
	}); err != nil || done {
		return err
	}
	plan, err := s.planDir(0, 0, 0)
	if err != nil {
		return err
	}
	if plan.total > 1 && slices.Contains(s.fs.MetaServers(), s.me) {
		if err := s.extend(s.ctx, s.fs.Root, plan); err != nil {
			return err
		}
	}
	if err := s.addLostAndFound(plan); err != nil {
		return err
	}
	return s.store.Update(func(tx *store.Tx) error { return tx.SetRecord(rootRecord, []byte{1}) })
}

// addLostAndFound makes the directory lost+found and its entry, unless it exists.
func (s *Server) addLostAndFound(plan dirPlan) error {
	var root store.Object
	if err := s.store.View(func(tx *store.Tx) (err error) {
		root, err = tx.Get(s.fs.Root)
		return err
	}); err != nil {
		return err
	}
	if _, err := s.find(s.ctx, s.fs.Root, &root, lostAndFound); err == nil || proto.StatusOf(err) != proto.ENOENT {
		return err
	}
	var h proto.Handle
	if err := s.store.Update(func(tx *store.Tx) (err error) {
		h, err = tx.AddDirectory(0, s.newDirectory(), plan.split)
		return err
	}); err != nil {
		return err
	}
	if plan.total > 1 {
		if err := s.extend(s.ctx, h, plan); err != nil {
			return err
		}
	}
	i := bucketOf(&root.DistDir, lostAndFound)
	if i < 0 || i >= len(root.DistDir.Dirdata) {
		return proto.EIO
	}
	at := root.DistDir.Dirdata[i]
	req := &proto.CrDirentReq{Cred: s.credential(), Name: lostAndFound, New: h, Dir: s.fs.Root, Dirdata: at, FS: s.fs.ID}
	err := s.callOwner(s.ctx, s.fs.Root, []proto.Handle{at}, req, &proto.CrDirentResp{})
	if err != nil && proto.StatusOf(err) == proto.EEXIST {
		err = nil
	}
	return err
}

// createRootDir is for servers that do not do this by themselves.
func (s *Server) createRootDir(_ *query, req *proto.CreateRootDirReq) (*proto.CreateRootDirResp, error) {
	if req.Handle != s.fs.Root || !s.ownedBy(s.fs.Root, s.me) {
		return nil, proto.EINVAL
	}
	return &proto.CreateRootDirResp{}, nil
}

// recover finishes or undoes operations on several servers that an earlier run began.
func (s *Server) recover() {
	s.work.Go(s.emptyTrash)
	for _, task := range []func() error{s.mendRemovals, s.mendSplits, s.growRoot} {
		if !s.keepTrying(task) {
			return
		}
	}
	close(s.ready)
}

// keepTrying calls a function until it succeeds. It returns false if the server stops first.
func (s *Server) keepTrying(do func() error) bool {
	for delay := splitRepair / 16; ; delay = min(2*delay, splitRepairMax) {
		err := do()
		if err == nil {
			return true
		}
		if s.ctx.Err() != nil {
			return false
		}
		s.log.Warn("trying again later", "err", err, "in", delay.Round(time.Millisecond))
		if !pause(s.ctx, delay) {
			return false
		}
	}
}
