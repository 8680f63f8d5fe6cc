package shm

import "time"

// Limits of the format. A change of any of them is a new version of the
// format (docs/internals/protocols/shm.md), because both sides compute offsets from them.
const (
	// InlineBytesMax is the payload that fits into a slot beside its header.
	InlineBytesMax = 56
	// MTUBytes is the payload of one message: one buffer.
	MTUBytes = 8192

	ringSlots    = 64        // messages under way in one direction
	slotBytes    = 64        // one cache line
	tableEntries = 8192      // memory registrations of one device
	arenaBytes   = 256 << 20 // addresses of an arena
)

// Limits of this implementation.
const (
	// PortsMax bounds the ports of a device, and so its mappings and descriptors: each connection takes three
	// descriptors.
	PortsMax = 8192
	// ConnsMax bounds connections in every state, including those whose port is closed and whose other side has
	// not released them yet.
	ConnsMax = 2 * PortsMax
	// OtherConnsMax bounds the connections of users other than ours and root. One such user may have half of
	// what the others leave.
	OtherConnsMax = 1024
	// SegmentsMax bounds the segments of a descriptor.
	SegmentsMax = 64
	// SendDepthMax bounds the descriptors that wait behind an RDMA descriptor; plain sends never wait
	// otherwise.
	SendDepthMax = 256
	// RDMABytesMax is the largest length of one RDMA descriptor.
	RDMABytesMax = 1 << 30
	// NameBytesMax bounds a device's name.
	NameBytesMax = 64

	greetingsMax  = 256     // accepted sockets that have not sent a hello
	requestsMax   = 128     // connect requests that wait for Accept or Reject
	listenBacklog = 4096    // connects that wait for the listener; the kernel may allow fewer (net.core.somaxconn)
	connFDs       = 3       // descriptors that a connection takes
	groupsMax     = 1024    // groups of a peer that are recorded
	sweepsMax     = 4096    // names that a device is still to look at because their processes died
	sweepNames    = 8       // names that a device looks at when it is opened
	sweepReads    = 4       // how often it reads the directory's list for that
	sweepBytes    = 1 << 10 // of the list that it reads each time
	draftTries    = 3       // to make a socket and to give it its name
	allocMax      = 1 << 34 // largest single Alloc

	rdmaCallBytes = 256 << 10 // one process_vm_* call
	rdmaPollBytes = 512 << 10 // one Poll, one port

	fileBufferBytes = 128 << 10 // bytes of a file that are copied at once if they must be copied twice
)

// Times. None is checked per message.
const (
	connectTimeout  = 5 * time.Second        // of Connect, if the caller gives none
	greetTimeout    = 5 * time.Second        // for a hello after accept, and for a confirm
	dialRetry       = 2 * time.Millisecond   // the first pause while the listener's backlog is full; the next is twice as long
	dialRetryMax    = 64 * time.Millisecond  // and so on up to this: the listener may need the core
	acceptPauseTime = 100 * time.Millisecond // after accept ran out of descriptors
	trimEvery       = time.Second            // idle for two of these: buffer pages are given back
	peerFresh       = 10 * time.Millisecond  // a check of the socket this recent still proves a peer alive
	closeWait       = time.Second            // how long Close waits for remote accesses to end
	nameLockWait    = 2 * time.Second        // how long Open waits for the directory lock, if its name is that of a dead process
	nameLockBackoff = time.Millisecond
)

// sweepAfter are the delays after a peer's death at which its socket file is checked: the kernel closes a dying
// process's descriptors one by one, so its listener may outlive our connection by a little.
var sweepAfter = [...]time.Duration{0, 5 * time.Millisecond, 50 * time.Millisecond, 500 * time.Millisecond}

// Progress. Poll counts down a budget, an empty Poll faster than a busy one. At zero it checks the sockets and
// doorbells (one epoll_wait).
const (
	pollBudget    = 2048
	pollBusyCost  = 1
	pollEmptyCost = 8   // every 256 empty polls
	pollColdCost  = 64  // every 32, when messages may come only by doorbell
	pollGreetCost = 256 // every 8, while a connection is being set up

	coolAfter   = 64   // checks without traffic until a port waits for its doorbell
	writeAhead  = 2    // slots whose cache lines are prefetched before they are written; 8 cost a third of the rate on two cores
	readAhead   = 1088 // bytes of a buffer that are prefetched; 8192 cost a sixth of 4 KiB on two threads of one core
	streamAfter = 8    // messages in a row without an answer that make a stream
	streamPause = 16   // spin.Relax calls of a receiver of a stream that finds nothing: 0.1 to 0.6 µs. 64 B messages on two cores 3.6 to 4.1 million/s
	limitAhead  = 8    // sends left when the other side's limit is read again
	acceptBatch = 16
	eventBatch  = 64
)
