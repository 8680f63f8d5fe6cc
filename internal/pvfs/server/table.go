package server

import (
	"context"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rights"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A query is a request that passed the common checks.
type query struct {
	ctx    context.Context
	peer   bmi.Addr
	rules  *rules // that apply to it; nil for a request of this process
	header *proto.Header
	req    proto.Request

	turn *turn // set if it moves bytes

	user *bmi.User // of this machine, if it runs the client and is neither root nor the server's own; else nil

	rights.Asker
	objects []proto.Handle // those of the request that its needs name
	// certified: the identity comes from a certificate.
	certified bool

	at           int64         // when its new capability is issued, see moment
	narrowed     *store.Object // set by an operation that reduced the rights to this object
	narrowedOpen bool          // also for who has it open

	inherits  bool         // set if a SETEATTR may only give a new directory what its parent has
	metafile  proto.Handle // of the datafile to be removed, as named by a server; 0 if it named none
	directory bool         // set by REMOVE of a directory
}

// An operation is how requests of one code are carried out. Either run or flow is set.
type operation struct {
	from  senders
	needs []need

	// changes reports whether a request changes something. Such a request is refused in admin mode (unless manages is set) and in
	// a read-only export. nil: it never does.
	changes func(proto.Request) bool
	manages bool // a management operation

	// run carries it out. Its errors are sent as proto.StatusOf returns them.
	run func(s *Server, q *query) (proto.Response, error)
	// flow sends the answer itself.
	flow func(s *Server, q *query, c *rpc.Call)
}

// table has the operations by code.
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

// on adapts a method that takes its own type of request for the table.
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
func reads(f func(*Server, *query) (proto.Response, error), needs ...need) *operation {
	return &operation{run: f, needs: needs}
}

func changes(f func(*Server, *query) (proto.Response, error), needs ...need) *operation {
	return &operation{run: f, needs: needs, changes: always}
}

// by restricts an operation to some senders.
func (op *operation) by(who senders) *operation {
	op.from = who
	return op
}

// managing makes it a management operation.
func (op *operation) managing() *operation {
	op.manages = true
	return op
}
