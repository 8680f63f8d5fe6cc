package rpc

import (
	"context"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// A Handler carries out one request, and answers it with Reply or Fail before it returns; if it
// does not, or panics, the client is answered EIO. Nothing of the Call is used afterwards. Its
// Request may point to the message (SmallIOReq.Data).
type Handler func(c *Call)

// A Server takes the requests that come to an endpoint.
type Server struct {
	ep     *bmi.Endpoint
	handle Handler
	opt    ServerOptions
}

// NewServer makes a server of the unexpected messages of class 0 of ep.
func NewServer(ep *bmi.Endpoint, handle Handler, opt ServerOptions) *Server {
	return &Server{ep: ep, handle: handle, opt: opt}
}

// Serve takes requests until ctx ends, then carries out those that are there, as long as
// DrainTime allows, and returns nil. It returns an error if the endpoint fails. It is called once.
func (s *Server) Serve(ctx context.Context) error { <-ctx.Done(); return nil }

// Stats counts since the server was made.
func (s *Server) Stats() ServerStats { return ServerStats{} }

// ServerStats count requests. Counters only grow; Queued, Running and Flowing are states.
type ServerStats struct {
	Ops         map[proto.Op]OpStats
	Undecodable uint64 // requests answered EPROTO
	Refused     uint64 // requests answered EAGAIN, see QueuePerClient
	Panics      uint64 // handlers that panicked
	Unsent      uint64 // responses that no client took
	FlowsFailed uint64 // flows that ended early
	BytesIn     uint64 // of flows
	BytesOut    uint64

	Queued, Running, Flowing int
	FlowMemory               int // bytes of buffers, used or kept
}

// OpStats count the requests of one operation.
type OpStats struct {
	Requests uint64
	Failed   uint64 // answered with a status other than 0
	Time     uint64 // ns in the handler, in all
}
