package rpc

import (
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/refusal"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// ServerStats count requests. The unsigned fields only grow; the ints are present values.
type ServerStats struct {
	Ops         map[proto.Op]OpStats // requests received
	Undecodable uint64               // requests answered EPROTO
	Refused     uint64               // requests answered EAGAIN, see QueuePerClient
	CutOff      uint64               // requests and flows that had not ended after DrainTime
	Panics      uint64               // handlers that panicked
	Unsent      uint64               // responses that the client did not take
	FlowsFailed uint64               // flows that ended early
	BytesIn     uint64               // in flows that did not fail
	BytesOut    uint64

	Queued     int // requests that wait
	Running    int // handlers of requests without a flow
	Flowing    int // handlers of requests with a flow
	Outside    int // handlers that wait for another server; not counted above
	FlowMemory int // bytes of buffers, in use or kept
}

// OpStats count the requests of one operation.
type OpStats struct {
	Requests uint64
	Failed   uint64        // answered with a status other than 0, except those in Nothing
	Nothing  uint64        // answered that the name or attribute does not exist
	Time     time.Duration // total, in the handler
	Latency  Latencies     // of those that ended
	Active   int64         // requests in their handlers
}

// opsMax is larger than every operation code.
const opsMax = 64

// counters are the source of ServerStats.
type counters struct {
	ops [opsMax]struct {
		requests, failures, nothing, ns, ended atomic.Uint64
		latency                                histogram
	}

	panics, flowsFailed, bytesIn, bytesOut atomic.Uint64
}

// came, failed, foundNothing and took count a request, its result and its duration. The operation exists, because a request with
// another one does not decode.
func (c *counters) came(op proto.Op)         { c.ops[op%opsMax].requests.Add(1) }
func (c *counters) failed(op proto.Op)       { c.ops[op%opsMax].failures.Add(1) }
func (c *counters) foundNothing(op proto.Op) { c.ops[op%opsMax].nothing.Add(1) }
func (c *counters) took(op proto.Op, d time.Duration) {
	o := &c.ops[op%opsMax]
	o.ns.Add(uint64(d))
	o.latency.add(d)
	o.ended.Add(1)
}

// Stats returns the counts since the server was made.
func (s *Server) Stats() ServerStats {
	c := &s.count
	st := ServerStats{
		Ops:         make(map[proto.Op]OpStats),
		Undecodable: s.opt.Refusals.Count(refusal.Malformed),
		Refused:     s.opt.Refusals.Count(refusal.QueueFull),
		CutOff:      s.opt.Refusals.Count(refusal.CutOff),
		Panics:      c.panics.Load(),
		Unsent:      s.opt.Refusals.Count(refusal.Unanswered),
		FlowsFailed: c.flowsFailed.Load(),
		BytesIn:     c.bytesIn.Load(),
		BytesOut:    c.bytesOut.Load(),
		FlowMemory:  s.buffers.total(),
	}
	for i := range c.ops {
		ended := c.ops[i].ended.Load() // read before requests, so that it is not larger
		if n := c.ops[i].requests.Load(); n > 0 {
			st.Ops[proto.Op(i)] = OpStats{
				Requests: n, Failed: c.ops[i].failures.Load(), Nothing: c.ops[i].nothing.Load(), Time: time.Duration(c.ops[i].ns.Load()),
				Latency: c.ops[i].latency.read(), Active: int64(n - ended),
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.Queued, st.Outside = s.backlogLocked(), s.outside
	st.Running, st.Flowing = s.kinds[kindPlain].running, s.kinds[kindFlow].running
	return st
}
