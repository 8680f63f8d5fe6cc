package rpc

import (
	"log/slog"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/refusal"
)

// Options are of a Caller. Zero values mean defaults.
type Options struct {
	// Timeout is how long the response to a request may take; 0 is 300 s, < 0 without limit.
	// A context that ends earlier ends a call, too.
	Timeout time.Duration
	// FlowTimeout is how long a flow may move nothing; 0 is 300 s, < 0 without limit.
	FlowTimeout time.Duration
	// FlowBufferSize is the length of the messages of flows, in bytes; 0 is 262144. It must be
	// the server's. One request may have another, see Flow.
	FlowBufferSize int
	// FlowBuffers is how many of them are posted at once; 0 is 8.
	FlowBuffers int
	// Late bounds the calls that were given up, and whose answers are still waited for so that
	// they stand in nobody's way; 0 is 64.
	Late int
}

// ServerOptions are of a Server. Zero values mean defaults.
type ServerOptions struct {
	// Workers is how many requests without a flow are handled at once; 0 is four times the
	// number of processors, at least 32. One host gets at most half of those that others leave. A host that has none
	// under way gets one more if all are taken, up to twice as many in all.
	Workers int
	// Flows is how many requests with a flow are; 0 is 64. They are shared out in the same way.
	Flows int
	// Outside bounds the handlers that wait for another server and are not counted in Workers
	// meanwhile; 0 is 256.
	Outside int
	// Brief tells which requests are usually answered at once, without a wait for a disk or for
	// others. A worker that takes such a request carries it out before any worker waits for the next one, and is replaced
	// only if that takes long after all. nil: none.
	Brief func(proto.Op) bool
	// Queue is how many requests may wait; 0 is 4096, or fewer if they could take more than 1/64 of the memory. Beyond, clients are held back. One host may have half of the room that
	// others leave; beyond, its requests are answered EAGAIN.
	Queue int
	// QueuePerClient is how many of them may be of one client; 0 is 1024. Beyond, its requests
	// are answered EAGAIN.
	QueuePerClient int

	// Timeout is how long a client may take to accept a response; 0 is 30 s.
	Timeout time.Duration
	// FlowTimeout is how long a flow may move nothing; 0 is 300 s.
	FlowTimeout time.Duration
	// FlowPatience is how long it may move nothing while others wait for their turn; 0 is 5 s.
	FlowPatience time.Duration
	// FlowBufferSize is the length of the messages of flows, in bytes; 0 is 262144.
	FlowBufferSize int
	// FlowBuffers is how many of them one flow has under way; 0 is 8.
	FlowBuffers int
	// FlowMemory bounds the buffers of all flows, in bytes; 0 is 64 MiB, or 1/32 of the memory if that is less. Flows beyond have one
	// buffer each.
	FlowMemory int
	// DrainTime is how long a stop waits for requests and flows under way; 0 is 10 s. Beyond, they are cut off.
	DrainTime time.Duration

	// Refusals counts and logs what is not served; nil: the server has a counter of its own.
	Refusals *refusal.Counter

	// Log takes the few events worth a line; nil discards them.
	Log *slog.Logger
}
