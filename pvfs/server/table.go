package server

import (
	"context"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/pvfs/store"
)

// A query is a request that passed the checks that all have in common.
type query struct {
	ctx    context.Context
	peer   bmi.Addr
	rules  *rules // those that hold for it; nil if it is of the process itself
	header *proto.Header
	req    proto.Request

	user *bmi.User // of this machine, that runs the client and is neither root nor the server's own; else nil

	who identity // of the credential, squashed; none if the request has no credential
	// certified: it is that of a certificate.
	certified bool
	trust     trust // what the capability proves about its sender

	at       int64         // when the capability that it gets is issued, see moment
	narrowed *store.Object // set by what changed this so that somebody may do less with it

	metafile  proto.Handle // of the datafile to be removed, as a server named it; 0 if it did not
	directory bool         // set by REMOVE: it was one
}

// An operation is what is done for the requests of one code. Either run or flow is set.
type operation struct {
	// changes reports whether a request changes something: it is refused in admin mode (unless
	// manages) and where the file system is exported read-only. nil: it never does.
	changes func(proto.Request) bool
	manages bool // a management operation

	// run carries it out. Its errors are sent as proto.StatusOf has them.
	run func(s *Server, q *query) (proto.Response, error)
	// flow answers by itself.
	flow func(s *Server, q *query, c *rpc.Call)
}

// table is the operations there are, by code.
var table [64]*operation

func init() {
	for _, group := range []map[proto.Op]*operation{nameOps, attrOps, ioOps, treeOps, manageOps, certOps} {
		for op, o := range group {
			if table[op] != nil {
				panic("server: operation in the table twice")
			}
			table[op] = o
		}
	}
}

func always(proto.Request) bool { return true }

// on makes a method that takes its own type of request one for the table.
func on[R any, P interface {
	*R
	proto.Request
}, A proto.Response](f func(*Server, *query, P) (A, error)) func(*Server, *query) (proto.Response, error) {
	return func(s *Server, q *query) (proto.Response, error) {
		resp, err := f(s, q, q.req.(P))
		if err != nil {
			return nil, err
		}
		return resp, nil
	}
}

// reads and changes make entries of the table.
func reads(f func(*Server, *query) (proto.Response, error)) *operation {
	return &operation{run: f}
}

func changes(f func(*Server, *query) (proto.Response, error)) *operation {
	return &operation{run: f, changes: always}
}
