package server

import (
	"math/rand/v2"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// create makes a file: a metafile and its datafiles. A file that may stay stuffed gets only the first datafile, on this server.
func (s *Server) create(q *query, req *proto.CreateReq) (*proto.CreateResp, error) {
	q.at = s.moment()
	o, err := s.newObject(q, &req.Attr, proto.TypeMetafile)
	if err != nil {
		return nil, err
	}
	want, err := s.planFile(&o, req)
	if err != nil {
		return nil, err
	}
	servers, stuffed, err := s.placeFile(want, req)
	if err != nil {
		return nil, err
	}
	if !stuffed {
		want = len(servers)
	}
	if err := checkDist(o.Dist, want); err != nil {
		return nil, err
	}
	if stuffed {
		o.Hint.Datafiles = uint32(want) // the number of datafiles once the file is not stuffed any more
	} else {
		o.Mask |= proto.AttrUnstuffed
	}
	resp := &proto.CreateResp{Stuffed: stuffed}
	err = s.useDatafiles(q.ctx, servers, q.within(func(tx *store.Tx) (err error) {
		if resp.Handle, err = tx.NewHandle(store.MetaSpace); err != nil {
			return err
		}
		if o.Datafiles, err = s.takeDatafiles(tx, servers, resp.Handle); err != nil {
			return err
		}
		return tx.Insert(resp.Handle, o)
	}))
	if err != nil {
		return nil, err
	}
	resp.Attr = o.Attr
	resp.Attr.Hint = proto.DirHint{}
	resp.Attr.Mask &= proto.AttrCommon | proto.AttrDatafiles | proto.AttrUnstuffed
	if q.header.Hints.Gives() && s.signs() {
		resp.Attr.Mask |= proto.AttrCapability
		handles := append([]proto.Handle{resp.Handle}, o.Datafiles...)
		resp.Attr.Capability = s.issue(q, rightsTo(&o), false, rights.Of(rightsTo(&o), q.Who), handles)
	}
	return resp, nil
}

// newObject is the object that CREATE or MKDIR makes, with its owner, group and mode. EACCES, EPERM.
func (s *Server) newObject(q *query, a *proto.Attr, t proto.ObjType) (store.Object, error) {
	var o store.Object
	if a.Type != t && a.Type != proto.TypeNone {
		return o, proto.EINVAL
	}
	group, err := q.group()
	if err != nil {
		return o, err
	}
	now := s.clock().Unix()
	o.Parent = q.near()
	o.Type, o.Mask = t, proto.AttrCommon
	o.Owner, o.Group, o.Perms = q.Who.UID, group, a.Perms&rights.ModeBits
	if _, asked := q.hint(proto.HintOwnerGID); q.Who.UID == 0 {
		if a.Mask&proto.AttrUID != 0 && a.Owner != rights.Anybody {
			o.Owner = a.Owner
		}
		if a.Mask&proto.AttrGID != 0 && a.Group != rights.Anybody && !asked {
			o.Group = a.Group
		}
	}
	o.ATime, o.MTime, o.CTime = now, now, now
	if a.Mask&proto.AttrATimeSet != 0 {
		o.ATime = a.ATime
	}
	if a.Mask&proto.AttrMTimeSet != 0 {
		o.MTime = a.MTime
	}
	return o, nil
}

// planFile decides the distribution of a new file and the number of its datafiles.
func (s *Server) planFile(o *store.Object, req *proto.CreateReq) (int, error) {
	o.Dist = s.fs.Dist
	if req.Attr.Mask&proto.AttrDist != 0 && req.Attr.Dist.Name != "" {
		o.Dist = req.Attr.Dist
	}
	if o.Dist.Name == "" {
		o.Dist = proto.Dist{Name: proto.DistStripe, StripSize: proto.StripSize64}
	}
	o.Flags = req.Attr.Flags
	o.Mask |= proto.AttrDist | proto.AttrDatafiles
	there := len(s.fs.DataServers())
	want := int(req.Datafiles)
	if want == 0 {
		want = cmpOr(s.fs.DefaultDatafiles, there)
	}
	if want < 0 || want > datafilesMax {
		return 0, proto.EINVAL
	}
	if req.Layout.Algorithm != proto.LayoutList {
		want = min(want, there)
	}
	m, err := stripe.Of(o.Dist)
	if err != nil {
		return 0, proto.EINVAL
	}
	if want = m.Count(want); want > there && req.Layout.Algorithm != proto.LayoutList {
		want = max(1, min(want, there))
	}
	return want, nil
}

// checkDist checks that a file of n datafiles can have this distribution.
func checkDist(d proto.Dist, n int) error {
	m, err := stripe.Of(d)
	if err == nil {
		err = m.Check(n)
	}
	if err != nil {
		return proto.EINVAL
	}
	return nil
}

// placeFile chooses the servers of a new file's datafiles, by index in the configuration. The datafile of a stuffed file is on
// this server.
func (s *Server) placeFile(want int, req *proto.CreateReq) (servers []int, stuffed bool, err error) {
	data := s.fs.DataServers()
	if len(data) == 0 {
		return nil, false, proto.ENOSPC
	}
	here := slices.Contains(data, s.me)
	switch req.Layout.Algorithm {
	case proto.LayoutRoundRobin, 0:
		if here && s.fs.FileStuffing && want > 1 {
			return []int{s.me}, true, nil
		}
		return ring(data, int(s.next.Add(1)), want), false, nil
	case proto.LayoutNone:
		return ring(data, 0, want), false, nil
	case proto.LayoutRandom:
		shuffled := slices.Clone(data)
		rng := rand.New(rand.NewPCG(s.cfg.Seed, uint64(s.next.Add(1))))
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		return ring(shuffled, 0, want), false, nil
	case proto.LayoutLocal:
		if !here {
			return nil, false, proto.EINVAL
		}
		return ring([]int{s.me}, 0, want), false, nil
	case proto.LayoutList:
		listed, err := s.listed(req.Layout.Servers)
		return listed, false, err
	}
	return nil, false, proto.EINVAL
}

// ring takes n servers in turn, starting at from, and wraps around.
func ring(servers []int, from, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = servers[(from+i)%len(servers)]
	}
	return out
}

// listed finds the servers of these addresses. The file gets a datafile on each.
func (s *Server) listed(addresses []string) ([]int, error) {
	if len(addresses) == 0 || len(addresses) > datafilesMax {
		return nil, proto.EINVAL
	}
	var out []int
	for _, a := range addresses {
		i := slices.IndexFunc(s.fs.DataServers(), func(i int) bool {
			srv := &s.fs.Servers[i]
			return srv.Alias == a || slices.Contains(srv.Addresses(), a)
		})
		if i < 0 {
			return nil, proto.EINVAL
		}
		out = append(out, s.fs.DataServers()[i])
	}
	return out, nil
}

// unstuff gives a stuffed file its other datafiles.
func (s *Server) unstuff(q *query, req *proto.UnstuffReq) (*proto.UnstuffResp, error) {
	var servers []int
	err := s.view(q, func(tx *store.Tx) error {
		o, err := tx.Get(req.Handle)
		switch {
		case err != nil:
			return err
		case o.Type != proto.TypeMetafile:
			return proto.EINVAL
		case o.Mask&proto.AttrUnstuffed == 0:
			servers = s.othersOf(int(o.Hint.Datafiles))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if servers != nil {
		err := s.useDatafiles(q.ctx, servers, q.within(func(tx *store.Tx) error { return s.growFile(tx, req.Handle, servers) }))
		if err == nil && s.store.SyncsData() {
			err = s.store.Sync() // bytes on the disk are useless without it
		}
		if err != nil {
			return nil, err
		}
	}
	got, err := s.getAttr(q, &proto.GetAttrReq{Handle: req.Handle, FS: req.FS, Mask: req.Mask, Cred: req.Cred})
	if err != nil {
		return nil, err
	}
	return &proto.UnstuffResp{Attr: got.Attr}, nil
}

// othersOf are the servers of all datafiles but the first, which is here, in a file of n. It is empty, not nil, if there are
// none.
func (s *Server) othersOf(n int) []int {
	data := s.fs.DataServers()
	if n < 1 || len(data) == 0 {
		return []int{}
	}
	return ring(data, slices.Index(data, s.me)+1, min(n, datafilesMax)-1)
}

// growFile unstuffs a file, unless that has been done meanwhile.
func (s *Server) growFile(tx *store.Tx, h proto.Handle, servers []int) error {
	o, err := tx.Get(h)
	if err != nil || o.Mask&proto.AttrUnstuffed != 0 {
		return err
	}
	more, err := s.takeDatafiles(tx, servers, h)
	if err != nil {
		return err
	}
	o.Datafiles = append(slices.Clone(o.Datafiles), more...)
	o.Mask |= proto.AttrUnstuffed
	o.Hint.Datafiles = 0
	return tx.Put(h, o)
}
