package rpc

import (
	"log/slog"
	"runtime"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Defaults of Options and ServerOptions.
const (
	timeoutDefault        = 300 * time.Second
	replyTimeoutDefault   = 30 * time.Second
	flowPatienceDefault   = 5 * time.Second
	drainTimeDefault      = 10 * time.Second
	flowBufferSizeDefault = 256 << 10
	flowBuffersDefault    = 8
	flowMemoryDefault     = 64 << 20
	lateDefault           = 64
	workersMin            = 32
	flowsDefault          = 64
	outsideDefault        = 256
	queueDefault          = 4096
	queuePerClientDefault = 1024
)

// Limits of our own.
const (
	// replyKeptMax is the size of a response buffer that is kept for the next call, bytes.
	replyKeptMax = 160 << 10
	// sessionsKept is how many idle sessions a Caller keeps.
	sessionsKept = 256
	// flowBufferSizeMax and flowBuffersMax bound what a configuration may ask for.
	flowBufferSizeMax = 16 << 20
	flowBuffersMax    = 256
	// repliesMax and repliesBytesMax are how many responses may wait for their clients, and of
	// how many bytes; beyond, the oldest are given up.
	repliesMax      = 8192
	repliesBytesMax = 64 << 20
	// replyBuffersKept is how many buffers of responses are kept.
	replyBuffersKept = 256
	// messagesAtOnce is how many requests are taken from the endpoint in one go.
	messagesAtOnce = 16
	// leadTime is how long a worker waits for requests before it looks whether it shall stop.
	leadTime = 50 * time.Millisecond
	// lastHandlers is how long handlers may take to return once the contexts of their calls
	// ended.
	lastHandlers = 20 * time.Second
	// lookAgain is how often late responses are looked at, and lastReplies how long they may
	// still take when a server stops.
	lookAgain   = 100 * time.Millisecond
	lastReplies = time.Second
)

func (o Options) withDefaults() Options {
	orDefault(&o.Timeout, timeoutDefault)
	orDefault(&o.FlowTimeout, timeoutDefault)
	orDefault(&o.FlowBufferSize, flowBufferSizeDefault)
	orDefault(&o.FlowBuffers, flowBuffersDefault)
	orDefault(&o.Late, lateDefault)
	o.FlowBufferSize = min(max(o.FlowBufferSize, 1), flowBufferSizeMax)
	o.FlowBuffers = min(max(o.FlowBuffers, 1), flowBuffersMax)
	return o
}

func (o ServerOptions) withDefaults() ServerOptions {
	orDefault(&o.Workers, max(4*runtime.GOMAXPROCS(0), workersMin))
	orDefault(&o.Flows, flowsDefault)
	orDefault(&o.Outside, outsideDefault)
	orDefault(&o.Queue, queueDefault)
	orDefault(&o.QueuePerClient, queuePerClientDefault)
	orDefault(&o.Timeout, replyTimeoutDefault)
	orDefault(&o.FlowTimeout, timeoutDefault)
	orDefault(&o.FlowPatience, flowPatienceDefault)
	orDefault(&o.FlowBufferSize, flowBufferSizeDefault)
	orDefault(&o.FlowBuffers, flowBuffersDefault)
	orDefault(&o.FlowMemory, flowMemoryDefault)
	orDefault(&o.DrainTime, drainTimeDefault)
	o.FlowBufferSize = min(max(o.FlowBufferSize, 1), flowBufferSizeMax)
	o.FlowBuffers = min(max(o.FlowBuffers, 1), flowBuffersMax)
	if o.Brief == nil {
		o.Brief = func(proto.Op) bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func orDefault[T int | time.Duration](v *T, def T) {
	if *v == 0 {
		*v = def
	}
}
