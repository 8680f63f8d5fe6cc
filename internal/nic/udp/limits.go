package udp

import "time"

// Limits of the packet format: both sides rely on them (docs/internals/protocols/udp.md).
const (
	// MTUBytes is the largest message of one send descriptor: one of 8 KiB with the headers
	// of the layers above.
	MTUBytes = 8<<10 + 64
	// PriorityBytes is the largest send that goes on the priority lane.
	PriorityBytes = 1 << 10
	// CopyBytes is the largest send that is copied when it is posted: one of 4 KiB
	// with the headers of the layers above.
	CopyBytes = 4<<10 + 128
	// RDMABytesMax is the largest length of one RDMA descriptor.
	RDMABytesMax = 1 << 30
)

// Limits of this implementation.
const (
	// PortsMax bounds the ports of a device.
	PortsMax = 8192
	// RegionsMax bounds the memory registrations of a device.
	RegionsMax = 1 << 16
	// SegmentsMax bounds the segments of a descriptor.
	SegmentsMax = 12
	// RecvDepthMax and SendDepthMax bound a port's queues, in descriptors.
	RecvDepthMax, SendDepthMax = 256, 1024

	sparesMax = 2048 // free buffers that a device keeps, 16 MiB
	// roomsLentMax bounds the arrivals from which messages are lent, 1 MiB; others are
	// copied into buffers.
	roomsLentMax = 16

	requestsMax = 128 // connect requests that wait for Accept or Reject

	recvBatch = 16 // arrivals taken at once from one socket
	sendBatch = 32 // packets given at once to one socket

	hotPolls      = 256 // Polls without a packet after which a lane is idle
	dataEvery     = 8   // while the data lane is idle, one in dataEvery Polls reads it
	priorityEvery = 4   // while only the data lane is in use, one in priorityEvery idle Polls reads the other
	recvRounds    = 4   // batches read from one socket in one Poll
	recvRoundsAll = 64  // batches read before timers run
	turnPackets   = 32  // packets of one lane of one connection before other connections have their turn
	// Segments of up to gatherDataMax bytes of data share a packet of up to gatherMax bytes.
	// Larger segments would gain too little to be copied together, and in a larger packet
	// the first message would have to wait for too many others.
	gatherDataMax, gatherMax = 1 << 10, 8 << 10

	rangesRoom = 2 // ack ranges that a packet with a segment has room for
)

// Times. Those of a connection's traffic are in Options.
const (
	connectTimeout = 5 * time.Second // of Connect, if the caller gives none
	initAgainMin   = 5 * time.Millisecond
	initAgainMax   = 500 * time.Millisecond
	requestLife    = 10 * time.Second // of a connect request without an answer
	answerAgainMax = 500 * time.Millisecond
	answerLife     = 5 * time.Second // how long an accepted request waits for the first packet of the other side
	warnEvery      = time.Second

	// KeepAlive is the silence after which a peer is probed.
	KeepAlive = 3 * time.Second
	// askAgain is the time between probes, and asksMin the least number of probes
	// before the peer counts as silent.
	askAgain = 50 * time.Millisecond
	asksMin  = 8
	// GiveUp is how long a peer may be silent while something waits for it.
	GiveUp = 4 * time.Second
	// LeaveTimeout bounds how long an ended connection continues in order to deliver sent messages;
	// CloseDrain bounds it when the device closes.
	LeaveTimeout = 5 * time.Second
	CloseDrain   = time.Second
	closeByeMax  = 10 * time.Millisecond
	lastWords    = 100 * time.Millisecond
	// absentAfter is how long an address may send no answer of any kind before it
	// counts as absent.
	absentAfter = 3 * time.Second
)
