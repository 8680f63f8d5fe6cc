package server

import (
	"fmt"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// The modes of a server.
const (
	modeNormal = 1
	modeAdmin  = 2 // changes are refused with EAGAIN
)

// admin is the state that management operations set and report.
type admin struct {
	mode       atomic.Int32
	noTimeouts atomic.Bool // credentials and capabilities do not expire
	perf       perf
	users      userLog
}

// initAdmin starts in normal mode.
func (s *Server) initAdmin() error {
	s.admin.mode.Store(modeNormal)
	s.admin.perf.begin(s.began)
	return nil
}

// manageOps are the management operations. Except for the harmless ones, they require a trusted network and the capability of an
// administrator: operations that change something always, operations that only report if no network is named.
var manageOps = map[proto.Op]*operation{
	proto.OpNoop:           reads(on((*Server).noop)),
	proto.OpSetParam:       reads(on((*Server).setParam)).by(settersOfParameters).managing(),
	proto.OpPerfMon:        reads(on((*Server).perfMon)).by(observers),
	proto.OpEventMon:       reads(refuse),
	proto.OpIterateHandles: reads(on((*Server).iterateHandles)).by(observers),
	proto.OpDspaceInfo: reads(on((*Server).dspaceInfo),
		objects("the objects", func(r *proto.DspaceInfoReq) []proto.Handle { return r.Handles }).known()).by(observers),
	proto.OpRemoveObject: changes(on((*Server).mgmtRemoveObject),
		object(objectName, func(r *proto.RemoveObjectReq) proto.Handle { return r.Handle }).known()).by(administrators).managing(),
	proto.OpRemoveDirent: changes(on((*Server).removeDirent),
		object(partName, func(r *proto.RemoveDirentReq) proto.Handle { return r.Dirdata }).known()).by(administrators).managing(),
	proto.OpGetDirdataHandle: reads(on((*Server).getDirdataHandle),
		object("the directory", func(r *proto.GetDirdataHandleReq) proto.Handle { return r.Handle }).known()),
	proto.OpGetUID:    reads(on((*Server).getUID)).by(observers),
	proto.OpMirror:    reads(refuse),
	proto.OpImmCopies: reads(refuse),
}

// refuse is for operations that this server does not have: tracing of events, and copies of files.
func refuse(*Server, *query) (proto.Response, error) { return nil, proto.EOPNOTSUPP }

// mayObserve is for operations that list objects, users or counters. Administrators may use them. So may all clients in a network
// that Config.Trusted names, because stock programs send no capability with these requests.
func (s *Server) mayObserve(q *query) error {
	if len(s.cfg.Trusted) == 0 && !q.Administrator() {
		return proto.EACCES
	}
	return s.mayManage(q)
}

// mayAdminister is for the holders of a capability for everything.
func (s *Server) mayAdminister(q *query) error {
	if !q.Administrator() {
		return proto.EACCES
	}
	return s.mayManage(q)
}

// mayManage checks that the query comes from a trusted network, from another server or from this process: EACCES.
func (s *Server) mayManage(q *query) error {
	if len(s.cfg.Trusted) == 0 || q.peer.IsZero() || q.Server() {
		return nil
	}
	ep := s.ep.Load()
	if ep == nil {
		return proto.EACCES
	}
	for _, pattern := range s.cfg.Trusted {
		if q.user != nil && !marked(pattern) {
			continue // a pattern such as via+shm://* means only processes of the server's own user
		}
		if in, err := ep.QueryAddrRange(q.peer, pattern); err == nil && in {
			return nil
		}
	}
	return proto.EACCES
}

// noop does nothing. A sender of the hint learns that this is a server of ours.
func (s *Server) noop(q *query, _ *proto.NoopReq) (proto.Response, error) {
	if _, hinted := q.header.Hints.Removes(); hinted {
		return &proto.MarkedNoopResp{Mark: proto.MarkKept}, nil
	}
	return &proto.NoopResp{}, nil
}

// dspaceInfo returns the types of objects, each with a status.
func (s *Server) dspaceInfo(q *query, req *proto.DspaceInfoReq) (*proto.DspaceInfoResp, error) {
	if len(req.Handles) > proto.MaxHandles {
		return nil, proto.EINVAL
	}
	resp := &proto.DspaceInfoResp{Infos: make([]proto.DspaceInfo, len(req.Handles))}
	err := s.view(q, func(tx *store.Tx) error {
		for i, h := range req.Handles {
			resp.Infos[i] = s.infoOf(tx, h)
		}
		return nil
	})
	return resp, err
}

// infoOf returns the type of one object.
func (s *Server) infoOf(tx *store.Tx, h proto.Handle) proto.DspaceInfo {
	info := proto.DspaceInfo{Handle: h}
	o, err := tx.Get(h)
	if err == nil {
		info.Type = o.Type
		switch o.Type {
		case proto.TypeDatafile:
			info.Size, err = s.store.Size(h)
		case proto.TypeDirectory:
			if len(o.DistDir.Dirdata) > 0 {
				info.Dirdata = o.DistDir.Dirdata[0]
			}
		}
	}
	info.Error = proto.StatusOf(err)
	return info
}

// mgmtRemoveObject removes one object, even if something refers to it.
func (s *Server) mgmtRemoveObject(q *query, req *proto.RemoveObjectReq) (*proto.RemoveObjectResp, error) {
	defer s.locks.alone(req.Handle)()
	if err := s.update(q, func(tx *store.Tx) error { return tx.Delete(req.Handle) }); err != nil {
		return nil, err
	}
	return &proto.RemoveObjectResp{}, nil
}

// removeDirent removes a name. The object to which it refers does not matter.
func (s *Server) removeDirent(q *query, req *proto.RemoveDirentReq) (*proto.RemoveDirentResp, error) {
	defer s.locks.share(req.Dirdata)()
	err := s.update(q, func(tx *store.Tx) error {
		_, err := tx.Unlink(req.Dirdata, req.Name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &proto.RemoveDirentResp{}, nil
}

// getDirdataHandle returns the first of a directory's dirdata objects.
func (s *Server) getDirdataHandle(q *query, req *proto.GetDirdataHandleReq) (*proto.GetDirdataHandleResp, error) {
	resp := &proto.GetDirdataHandleResp{}
	err := s.view(q, func(tx *store.Tx) error {
		o, err := tx.Get(req.Handle)
		switch {
		case err != nil:
			return err
		case o.Type != proto.TypeDirectory:
			return proto.ENOTDIR
		case len(o.DistDir.Dirdata) == 0:
			return fmt.Errorf("internal/pvfs/server: directory %d has no dirdata: %w", req.Handle, proto.EIO)
		}
		resp.Handle = o.DistDir.Dirdata[0]
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}
