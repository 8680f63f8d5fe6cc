package server

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// treeOps are the operations on objects of many servers. The server that gets the request handles its own objects. It divides
// the others, grouped by server, among TreeWidth requests to other servers.
var treeOps = map[proto.Op]*operation{
	proto.OpTreeRemove: changes(on((*Server).treeRemove),
		objects("the objects", func(r *proto.TreeRemoveReq) []proto.Handle { return r.Handles }).each(proto.OpRemove)),
	proto.OpTreeGetFileSize: reads(on((*Server).treeGetFileSize),
		objects("the datafiles", func(r *proto.TreeGetFileSizeReq) []proto.Handle { return r.Handles }).known()),
	proto.OpTreeGetAttr: reads(on((*Server).treeGetAttr),
		objects("the objects", func(r *proto.TreeGetAttrReq) []proto.Handle { return r.Handles }).each(proto.OpGetAttr)),
	proto.OpTreeSetAttr: changes(on((*Server).treeSetAttr),
		objects("the objects", func(r *proto.TreeSetAttrReq) []proto.Handle { return r.Handles }).each(proto.OpSetAttr)),
}

// A tree is one such operation. Its functions name objects by their index in handles. Each function records the result for its
// objects in the answer.
type tree struct {
	handles []proto.Handle
	own     func(i int) proto.Status
	// forward sends the request for some objects to a server.
	forward func(ctx context.Context, server int, objects []int) error
	fail    func(i int, status proto.Status)
}

// group is the objects of one server.
type group struct {
	server  int
	objects []int
}

// runTree carries out a tree.
func (s *Server) runTree(q *query, t *tree) error {
	if len(t.handles) > proto.MaxHandles {
		return proto.EINVAL
	}
	own, others := s.groups(t)
	var wait sync.WaitGroup
	for _, branch := range branches(others, s.fs.TreeWidth) {
		wait.Go(func() { s.ask(q.ctx, t, branch) })
	}
	t.doOwn(own)
	wait.Wait()
	return q.ctx.Err()
}

// groups groups the objects by owner. Objects without an owner fail with ENOENT.
func (s *Server) groups(t *tree) (own []int, others []group) {
	at := make(map[int]int)
	for i, h := range t.handles {
		owner, ok := s.fs.Owner(h)
		switch {
		case !ok:
			t.fail(i, proto.ENOENT)
		case owner == s.me:
			own = append(own, i)
		default:
			n, known := at[owner]
			if !known {
				n = len(others)
				at[owner] = n
				others = append(others, group{server: owner})
			}
			others[n].objects = append(others[n].objects, i)
		}
	}
	return own, others
}

// branches divides groups into width parts of nearly equal length.
func branches(groups []group, width int) [][]group {
	var all [][]group
	for n := min(width, len(groups)); n > 0; n-- {
		part := (len(groups) + n - 1) / n
		all = append(all, groups[:part])
		groups = groups[part:]
	}
	return all
}

// ask sends a whole branch to its first server. If that server does not answer, its own objects have failed, and the next
// server gets the request for the others.
func (s *Server) ask(ctx context.Context, t *tree, branch []group) {
	for len(branch) > 0 {
		var objects []int
		for _, g := range branch {
			objects = append(objects, g.objects...)
		}
		slices.Sort(objects)
		err := t.forward(ctx, branch[0].server, objects)
		if err == nil {
			return
		}
		for _, i := range branch[0].objects {
			t.fail(i, proto.StatusOf(err))
		}
		branch = branch[1:]
	}
}

// doOwn does the objects of this server, several at once if there are many.
func (t *tree) doOwn(own []int) {
	if len(own) == 1 {
		t.fail(own[0], t.own(own[0]))
		return
	}
	var all errgroup.Group
	all.SetLimit(treeOwnAtOnce)
	for _, i := range own {
		all.Go(func() error {
			t.fail(i, t.own(i))
			return nil
		})
	}
	_ = all.Wait() // t has the errors
}

// pick returns the handles of some objects.
func (t *tree) pick(objects []int) []proto.Handle {
	handles := make([]proto.Handle, len(objects))
	for n, i := range objects {
		handles[n] = t.handles[i]
	}
	return handles
}

// sub is the query for a request that is a part of another.
func (q *query) sub(req proto.Request) *query {
	part := *q
	part.req, part.objects = req, nil
	return &part
}

// part carries out a request that is a part of another, on an object of this server.
func (s *Server) part(q *query, req proto.Request) (proto.Response, error) {
	return s.perform(q.sub(req), operationOf(req.Op()))
}

// operationOf looks up the table. It is a variable because operations in the table use it themselves.
var operationOf func(proto.Op) *operation

func init() { operationOf = func(op proto.Op) *operation { return table[op] } }

// treeRemove removes objects as REMOVE does.
func (s *Server) treeRemove(q *query, req *proto.TreeRemoveReq) (*proto.TreeRemoveResp, error) {
	status := make([]proto.Status, len(req.Handles))
	t := &tree{handles: req.Handles, fail: func(i int, s proto.Status) { status[i] = s }}
	var metafiles []proto.Handle // of objects of this server
	if q.Server() {
		metafiles = q.header.Hints.Metafiles()
	}
	t.own = func(i int) proto.Status {
		one := q.sub(&proto.RemoveReq{Handle: req.Handles[i], FS: req.FS, Cred: req.Cred})
		if i < len(metafiles) {
			one.metafile = metafiles[i]
		}
		_, err := s.perform(one, operationOf(proto.OpRemove))
		return proto.StatusOf(err)
	}
	t.forward = func(ctx context.Context, server int, objects []int) error {
		if metafiles != nil {
			return proto.EINVAL
		}
		ask := *req
		ask.Handles = t.pick(objects)
		var resp proto.TreeRemoveResp
		if err := s.call(ctx, server, q.header, &ask, &resp); err != nil {
			return err
		}
		return spread(objects, resp.Status, status)
	}
	if err := s.runTree(q, t); err != nil {
		return nil, err
	}
	return &proto.TreeRemoveResp{Caller: req.Caller, Status: status}, nil
}

// treeSetAttr sets attributes of objects as SETATTR does.
func (s *Server) treeSetAttr(q *query, req *proto.TreeSetAttrReq) (*proto.TreeSetAttrResp, error) {
	status := make([]proto.Status, len(req.Handles))
	t := &tree{handles: req.Handles, fail: func(i int, s proto.Status) { status[i] = s }}
	t.own = func(i int) proto.Status {
		attr := req.Attr
		if req.Type != proto.TypeNone {
			attr.Type = req.Type
		}
		_, err := s.part(q, &proto.SetAttrReq{Handle: req.Handles[i], FS: req.FS, Attr: attr, Cred: req.Cred})
		return proto.StatusOf(err)
	}
	t.forward = func(ctx context.Context, server int, objects []int) error {
		ask := *req
		ask.Handles = t.pick(objects)
		var resp proto.TreeSetAttrResp
		if err := s.call(ctx, server, q.header, &ask, &resp); err != nil {
			return err
		}
		return spread(objects, resp.Status, status)
	}
	if err := s.runTree(q, t); err != nil {
		return nil, err
	}
	return &proto.TreeSetAttrResp{Caller: req.Caller, Status: status}, nil
}

// treeGetFileSize returns the sizes of datafiles.
func (s *Server) treeGetFileSize(q *query, req *proto.TreeGetFileSizeReq) (*proto.TreeGetFileSizeResp, error) {
	n := len(req.Handles)
	resp := &proto.TreeGetFileSizeResp{Caller: req.Caller, Sizes: make([]int64, n), Errors: make([]proto.Status, n)}
	t := &tree{handles: req.Handles, fail: func(i int, s proto.Status) { resp.Errors[i] = s }}
	t.own = func(i int) proto.Status {
		size, err := s.datafileSize(req.Handles[i])
		resp.Sizes[i] = size
		return proto.StatusOf(err)
	}
	t.forward = func(ctx context.Context, server int, objects []int) error {
		ask := *req
		ask.Handles = t.pick(objects)
		var got proto.TreeGetFileSizeResp
		if err := s.call(ctx, server, q.header, &ask, &got); err != nil {
			return err
		}
		if err := spread(objects, got.Errors, resp.Errors); err != nil {
			return err
		}
		return spread(objects, got.Sizes, resp.Sizes)
	}
	if err := s.runTree(q, t); err != nil {
		return nil, err
	}
	return resp, nil
}

// datafileSize is the size of a datafile of this server.
func (s *Server) datafileSize(h proto.Handle) (int64, error) {
	var kind proto.ObjType
	err := s.store.View(func(tx *store.Tx) (err error) {
		kind, err = tx.Type(h)
		return err
	})
	switch {
	case err != nil:
		return 0, err
	case kind == proto.TypeNone:
		return 0, proto.ENOENT
	case kind != proto.TypeDatafile:
		return 0, proto.EINVAL
	}
	return s.store.Size(h)
}

// treeGetAttr returns the attributes of objects as GETATTR does.
func (s *Server) treeGetAttr(q *query, req *proto.TreeGetAttrReq) (*proto.TreeGetAttrResp, error) {
	n := len(req.Handles)
	resp := &proto.TreeGetAttrResp{Caller: req.Caller, Attrs: make([]proto.Attr, n), Errors: make([]proto.Status, n)}
	t := &tree{handles: req.Handles, fail: func(i int, s proto.Status) { resp.Errors[i] = s }}
	t.own = func(i int) proto.Status {
		got, err := s.part(q, &proto.GetAttrReq{Handle: req.Handles[i], FS: req.FS, Mask: req.Mask, Cred: req.Cred})
		if r, ok := got.(*proto.GetAttrResp); ok && err == nil {
			resp.Attrs[i] = r.Attr
		}
		return proto.StatusOf(err)
	}
	t.forward = func(ctx context.Context, server int, objects []int) error {
		ask := *req
		ask.Handles = t.pick(objects)
		var got proto.TreeGetAttrResp
		if err := s.call(ctx, server, q.header, &ask, &got); err != nil {
			return err
		}
		if err := spread(objects, got.Errors, resp.Errors); err != nil {
			return err
		}
		return spread(objects, got.Attrs, resp.Attrs)
	}
	if err := s.runTree(q, t); err != nil {
		return nil, err
	}
	return resp, nil
}

// spread copies a server's results to the places of their objects.
func spread[T any](objects []int, got, to []T) error {
	if len(got) != len(objects) {
		return proto.EPROTO
	}
	for n, i := range objects {
		to[i] = got[n]
	}
	return nil
}
