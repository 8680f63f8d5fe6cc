package rpc

import (
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// ServerStats count requests. Counters only grow; the ints are states.
type ServerStats struct {
	Ops         map[proto.Op]OpStats // those that came
	Undecodable uint64               // requests answered EPROTO
	Refused     uint64               // requests answered EAGAIN, see QueuePerClient
	Panics      uint64               // handlers that panicked
	Unsent      uint64               // responses that no client took
	FlowsFailed uint64               // flows that ended early
	BytesIn     uint64               // of flows that did not fail
	BytesOut    uint64

	Queued     int // requests that wait
	Running    int // handlers without a flow
	Flowing    int // handlers with one
	Outside    int // handlers that wait for another server, and are not counted above
	FlowMemory int // bytes of buffers, used or kept
}

// OpStats count the requests of one operation.
type OpStats struct {
	Requests uint64
	Failed   uint64        // answered with a status other than 0
	Time     time.Duration // in the handler, in all
}

// opsMax is over every operation there is.
const opsMax = 64

// counters are what ServerStats are made from.
type counters struct {
	ops [opsMax]struct{ requests, failures, ns atomic.Uint64 }

	undecodable, refused, panics, unsent, flowsFailed, bytesIn, bytesOut atomic.Uint64
}

// came, failed and took count a request, its failure and its time. An operation that there is
// not does not decode.
func (c *counters) came(op proto.Op)                  { c.ops[op%opsMax].requests.Add(1) }
func (c *counters) failed(op proto.Op)                { c.ops[op%opsMax].failures.Add(1) }
func (c *counters) took(op proto.Op, d time.Duration) { c.ops[op%opsMax].ns.Add(uint64(d)) }

// Stats counts since the server was made.
func (s *Server) Stats() ServerStats {
	c := &s.count
	st := ServerStats{
		Ops:         make(map[proto.Op]OpStats),
		Undecodable: c.undecodable.Load(),
		Refused:     c.refused.Load(),
		Panics:      c.panics.Load(),
		Unsent:      c.unsent.Load(),
		FlowsFailed: c.flowsFailed.Load(),
		BytesIn:     c.bytesIn.Load(),
		BytesOut:    c.bytesOut.Load(),
		FlowMemory:  s.buffers.total(),
	}
	for i := range c.ops {
		if n := c.ops[i].requests.Load(); n > 0 {
			st.Ops[proto.Op(i)] = OpStats{Requests: n, Failed: c.ops[i].failures.Load(), Time: time.Duration(c.ops[i].ns.Load())}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Queued, st.Outside = s.backlogLocked(), s.outside
	st.Running, st.Flowing = s.kinds[kindPlain].running, s.kinds[kindFlow].running
	return st
}
