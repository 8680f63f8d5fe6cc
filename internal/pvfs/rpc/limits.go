package rpc

import (
	"log/slog"
	"runtime"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/machine"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/refusal"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Defaults of Options and ServerOptions.
const (
	timeoutDefault      = 300 * time.Second
	replyTimeoutDefault = 30 * time.Second
	flowPatienceDefault = 5 * time.Second
	drainTimeDefault    = 10 * time.Second

	flowBufferBytesDefault = 256 << 10
	flowBuffersDefault     = 8
	lateDefault            = 64
	flowsDefault           = 64
	outsideDefault         = 256
	queuePerClientDefault  = 1024

	// Requests without a flow: as many are carried out at once as there are processors, times workersPerProcessor.
	workersPerProcessor = 4
	workersMin          = 32

	// The buffers of flows, the waiting requests and the waiting responses may each take this part of the machine's memory.
	flowMemoryParts    = 32
	flowMemoryBytesMin = 8 << 20
	flowMemoryBytesMax = 64 << 20
	queueParts         = 64
	queueMin           = 256
	queueMax           = 4096
	repliesParts       = 32
	repliesBytesMin    = 4 << 20
	repliesBytesMax    = 64 << 20
)

// Limits of a host and of a client. A host has at most half of the places, and of the queue, that other hosts leave (places,
// backlog.put).
const (
	// hostsKnownMax is how many peers' hosts are cached.
	hostsKnownMax = 4096
	// flowMessageBytesMin is the shortest message of a flow from a client, except for its last one.
	flowMessageBytesMin = 4096
	// cutOffLinesMax is how many requests the log names that were cut off when the server stopped.
	cutOffLinesMax = 64
)

// Internal limits.
const (
	// replyKeptBytesMax is the size of a response buffer that is kept for the next call.
	replyKeptBytesMax = 160 << 10
	// sessionsKept is how many idle sessions a Caller keeps.
	sessionsKept = 256
	// flowBufferBytesMax and flowBuffersMax limit the values in a configuration.
	flowBufferBytesMax = 16 << 20
	flowBuffersMax     = 256
	// repliesMax is how many responses may wait for their clients. Beyond that, the oldest are given up.
	repliesMax = 8192
	// replyBuffersKept is how many response buffers are kept for reuse.
	replyBuffersKept = 256
	// messagesAtOnce is how many requests one call takes from the endpoint.
	messagesAtOnce = 16
	// leadTime is how long a worker waits for requests before it checks whether it must stop.
	leadTime = 50 * time.Millisecond
	// A worker with a brief request does not wake another one to wait for requests. If the request takes longer than
	// standInAfter, or up to twice that, another worker is woken after all.
	standInAfter = time.Millisecond
	// lastHandlers is how long handlers may take to return after the contexts of their calls have ended.
	lastHandlers = 20 * time.Second
	// lookAgain is the interval between checks of late responses. lastReplies is how long they may still take when a server
	// stops.
	lookAgain   = 100 * time.Millisecond
	lastReplies = time.Second
)

func (o Options) withDefaults() Options {
	orDefault(&o.Timeout, timeoutDefault)
	orDefault(&o.FlowTimeout, timeoutDefault)
	orDefault(&o.FlowBufferSize, flowBufferBytesDefault)
	orDefault(&o.FlowBuffers, flowBuffersDefault)
	orDefault(&o.Late, lateDefault)
	o.FlowBufferSize = min(max(o.FlowBufferSize, 1), flowBufferBytesMax)
	o.FlowBuffers = min(max(o.FlowBuffers, 1), flowBuffersMax)
	return o
}

func (o ServerOptions) withDefaults() ServerOptions {
	orDefault(&o.Workers, max(workersPerProcessor*runtime.GOMAXPROCS(0), workersMin))
	orDefault(&o.Flows, flowsDefault)
	orDefault(&o.Outside, outsideDefault)
	orDefault(&o.Queue, machine.Share(queueParts*proto.MaxUnexpected, queueMin, queueMax))
	orDefault(&o.QueuePerClient, queuePerClientDefault)
	orDefault(&o.Timeout, replyTimeoutDefault)
	orDefault(&o.FlowTimeout, timeoutDefault)
	orDefault(&o.FlowPatience, flowPatienceDefault)
	orDefault(&o.FlowBufferSize, flowBufferBytesDefault)
	orDefault(&o.FlowBuffers, flowBuffersDefault)
	orDefault(&o.FlowMemory, machine.Share(flowMemoryParts, flowMemoryBytesMin, flowMemoryBytesMax))
	orDefault(&o.DrainTime, drainTimeDefault)
	o.FlowBufferSize = min(max(o.FlowBufferSize, 1), flowBufferBytesMax)
	o.FlowBuffers = min(max(o.FlowBuffers, 1), flowBuffersMax)
	if o.Brief == nil {
		o.Brief = func(proto.Op) bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Refusals == nil {
		o.Refusals = refusal.New(o.Log, time.Now)
	}
	return o
}

func orDefault[T int | time.Duration](v *T, def T) {
	if *v == 0 {
		*v = def
	}
}
