package server

// What server.go uses of the files io*.go, tree*.go, mgmt*.go: each declaration moves to where it
// belongs, with its contents.

import (
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Entries of the table, by group. An operation that answers with one message is made with
//
//	proto.OpTruncate: changes(on((*Server).truncate)), // func (s *Server) truncate(q *query, req *proto.TruncateReq) (*proto.TruncateResp, error)
//
// and one with a flow is &operation{flow: func(s *Server, q *query, c *rpc.Call), changes: ...}. What is
// common to all (file system, credential, the capability's signature and age, admin mode) was checked by
// then; what the capability allows, and for which handles, is checked by the operation, with q.may.
var (
	ioOps     = map[proto.Op]*operation{}
	treeOps   = map[proto.Op]*operation{}
	manageOps = map[proto.Op]*operation{}
)

// admin is what SETPARAM changes.
type admin struct {
	mode       atomic.Int32 // modeNormal, modeAdmin; 0 is normal
	noTimeouts atomic.Bool
}

const (
	modeNormal = 1
	modeAdmin  = 2
)

func (s *Server) initAdmin() error { return nil }
