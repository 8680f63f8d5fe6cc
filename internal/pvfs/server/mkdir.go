package server

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// dirPlan says how a new directory is spread.
type dirPlan struct {
	initial, total int
	split          int32
}

// planDir decides that from the request and the configuration.
func (s *Server) planDir(initial, total, split int) (dirPlan, error) {
	d := &s.fs.DistrDir
	pick := func(asked, configured, least int) int {
		if asked > 0 {
			return asked
		}
		return max(configured, least)
	}
	p := dirPlan{initial: pick(initial, d.Initial, 1), total: pick(total, d.Max, 1), split: int32(pick(split, d.Split, 1))}
	if p.initial > p.total {
		return p, proto.EINVAL
	}
	there := min(len(s.fs.MetaServers()), dirdataMax)
	p.initial, p.total = min(p.initial, there), min(p.total, there)
	return p, nil
}

// mkdir makes a directory with a dirdata object here and, if it is to be spread, on other servers.
func (s *Server) mkdir(q *query, req *proto.MkdirReq) (*proto.MkdirResp, error) {
	o, err := s.newObject(q, &req.Attr, proto.TypeDirectory)
	if err != nil {
		return nil, err
	}
	plan, err := s.planDir(int(req.InitialServers), int(req.MaxServers), int(req.SplitSize))
	if err != nil {
		return nil, err
	}
	if !slices.Contains(s.fs.MetaServers(), s.me) {
		return nil, proto.EINVAL
	}
	resp := &proto.MkdirResp{}
	if err := s.update(q, func(tx *store.Tx) (err error) {
		resp.Handle, err = tx.AddDirectory(0, o, plan.split)
		return err
	}); err != nil {
		return nil, err
	}
	if plan.total > 1 {
		// Without the others the directory works, only not as fast.
		if err := s.extend(q.ctx, resp.Handle, plan); err != nil {
			s.log.Warn("a directory stays on one server", "directory", resp.Handle, "err", err)
		}
	}
	return resp, nil
}

// extend gives a directory of this server, which has one dirdata object, more of them on other servers. If it has no entries, the
// initial number of objects is in use at once; otherwise the directory divides later.
func (s *Server) extend(ctx context.Context, dir proto.Handle, plan dirPlan) error {
	var o store.Object
	err := s.store.View(func(tx *store.Tx) (err error) {
		o, err = tx.Get(dir)
		return err
	})
	if err != nil || len(o.DistDir.Dirdata) != 1 {
		return err
	}
	first := o.DistDir.Dirdata[0]
	meta := s.fs.MetaServers()
	servers := ring(meta, slices.Index(meta, s.me)+1, plan.total-1)
	more, err := s.remoteDirdata(ctx, servers)
	if err != nil {
		s.dropRemote(more)
		return err
	}
	defer s.locks.alone(first)()
	initial := plan.initial
	if empty, err := s.isEmpty(first); err != nil || !empty {
		initial = 1
	}
	d := spreadOver(append([]proto.Handle{first}, more...), initial, plan.split)
	if err := s.setUp(ctx, dir, &o, d); err != nil {
		s.dropRemote(more)
		return err
	}
	return s.store.Update(func(tx *store.Tx) error {
		for _, h := range []proto.Handle{dir, first} {
			o, err := tx.Get(h)
			if err != nil {
				return err
			}
			o.DistDir = d
			if err := tx.Put(h, o); err != nil {
				return err
			}
		}
		return nil
	})
}

// isEmpty reports whether a dirdata object of this server has no entries.
func (s *Server) isEmpty(dirdata proto.Handle) (empty bool, err error) {
	err = s.store.View(func(tx *store.Tx) error {
		dir, err := tx.Dir(dirdata)
		empty = dir.Count == 0
		return err
	})
	return empty, err
}

// remoteDirdata makes other servers create one dirdata object each. With an error it returns those that were made.
func (s *Server) remoteDirdata(ctx context.Context, servers []int) ([]proto.Handle, error) {
	made := make([]proto.Handle, len(servers))
	var all errgroup.Group
	for i, to := range servers {
		all.Go(func() error {
			var resp proto.BatchCreateResp
			req := &proto.BatchCreateReq{FS: s.fs.ID, Type: proto.TypeDirdata, Count: 1, Extents: s.fs.Servers[to].Meta}
			if err := s.callWith(ctx, to, 0, nil, req, &resp); err != nil {
				return err
			}
			if len(resp.Handles) != 1 || !s.ownedBy(resp.Handles[0], to) {
				return proto.EPROTO
			}
			made[i] = resp.Handles[0]
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return slices.DeleteFunc(made, func(h proto.Handle) bool { return h == 0 }), err
	}
	return made, nil
}

// ownedBy reports whether a server owns a handle.
func (s *Server) ownedBy(h proto.Handle, server int) bool {
	owner, ok := s.fs.Owner(h)
	return ok && owner == server
}

// setUp sends the other dirdata objects of a new spread directory their state.
func (s *Server) setUp(ctx context.Context, dir proto.Handle, o *store.Object, d proto.DistDir) error {
	var all errgroup.Group
	for i := 1; i < len(d.Dirdata); i++ {
		all.Go(func() error {
			a := o.Attr
			a.Type = proto.TypeDirdata
			a.Mask = proto.AttrCommon | proto.AttrDistDir
			a.DistDir = ofBucket(d, i)
			return s.tellAttr(ctx, dir, d.Dirdata[i], a)
		})
	}
	return all.Wait()
}

// tellAttr sends a SETATTR for an object to its server, on behalf of a directory.
func (s *Server) tellAttr(ctx context.Context, near, h proto.Handle, a proto.Attr) error {
	req := &proto.SetAttrReq{Handle: h, FS: s.fs.ID, Attr: a, Cred: s.credential()}
	return s.callOwner(ctx, near, []proto.Handle{h}, req, &proto.SetAttrResp{})
}

// dropRemote removes objects of other servers in the background. It keeps no record: if this server ends before that, fsck finds
// them.
func (s *Server) dropRemote(handles []proto.Handle) {
	if len(handles) == 0 {
		return
	}
	if err := s.store.Update(func(tx *store.Tx) error { return s.throwAway(tx, handles) }); err != nil {
		s.log.Warn("objects are left over", "handles", handles, "err", err)
	}
	s.trash.wake()
}
