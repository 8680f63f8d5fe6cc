package rpc

import (
	"log/slog"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/refusal"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Options configure a Caller. Zero values mean defaults.
type Options struct {
	// Timeout limits the wait for the response to a request; 0 is 300 s, < 0 no limit. A context that ends earlier also ends the
	// call.
	Timeout time.Duration
	// FlowTimeout is how long a flow may be without progress; 0 is 300 s, < 0 no limit.
	FlowTimeout time.Duration
	// FlowBufferSize is the length of the messages of flows, in bytes; 0 is 262144. It must be the same as the server's. A Flow
	// may set another size for its request.
	FlowBufferSize int
	// FlowBuffers is how many messages of a flow are posted at once; 0 is 8.
	FlowBuffers int
	// Late limits the calls that were given up and whose answers are still received, so that they do not block later ones; 0 is
	// 64.
	Late int
}

// ServerOptions configure a Server. Zero values mean defaults.
type ServerOptions struct {
	// Workers is how many requests without a flow are handled at once; 0 is four times the number of processors, at least 32. One
	// host gets at most half of the places that other hosts leave. A host that has none under way gets one even if all are taken,
	// up to twice the limit in all.
	Workers int
	// Flows is the limit for requests with a flow; 0 is 64. Hosts share the places in the same way.
	Flows int
	// Outside limits the handlers that wait for another server and do not count in Workers meanwhile; 0 is 256.
	Outside int
	// Brief reports which requests are usually answered at once, without waiting for a disk or another server. A worker carries
	// such a request out before another worker waits for the next request. Another is woken only if the request takes long after
	// all. nil: none.
	Brief func(proto.Op) bool
	// Queue is how many requests may wait; 0 is 4096, or fewer if they could take more than 1/64 of the memory. If the queue is
	// full, the server stops receiving. One host may have half of the room that other hosts leave; further requests of it are
	// answered EAGAIN.
	Queue int
	// QueuePerClient is how many of them may be of one client; 0 is 1024. Further requests are answered EAGAIN.
	QueuePerClient int

	// Timeout limits how long a client may take to accept a response; 0 is 30 s.
	Timeout time.Duration
	// FlowTimeout is how long a flow may be without progress; 0 is 300 s.
	FlowTimeout time.Duration
	// FlowPatience replaces FlowTimeout while other flows wait for a place; 0 is 5 s.
	FlowPatience time.Duration
	// FlowBufferSize is the length of the messages of flows, in bytes; 0 is 262144.
	FlowBufferSize int
	// FlowBuffers is the number of messages of a flow that are posted at once; 0 is 8.
	FlowBuffers int
	// FlowMemory limits the buffers of all flows, in bytes; 0 is 64 MiB, or 1/32 of the memory if that is less. Beyond that, each
	// flow has one buffer.
	FlowMemory int
	// DrainTime is how long a stop waits for requests and flows under way; 0 is 10 s. After that they are cut off.
	DrainTime time.Duration

	// Slow is the time from which a request is logged as slow, at most one in ten seconds; 0: none is.
	Slow time.Duration

	// Refusals counts and logs refused requests; nil: the server has a counter of its own.
	Refusals *refusal.Counter

	// Log receives the few events worth a line; nil discards them.
	Log *slog.Logger
}
