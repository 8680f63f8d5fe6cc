package message

// Limits of the protocol.
const (
	// LanePriority and LaneData are the two lanes; Lanes is how many there are.
	LanePriority, LaneData = 0, 1
	Lanes                  = 2

	// WindowMessages is how many messages a sender may have under way beyond the
	// oldest unacknowledged one, and how many a receiver tracks beyond the oldest
	// incomplete one.
	WindowMessages = 2048
)

// Limits of this implementation.
const (
	// AnswersMax bounds the answers to reads that one Queue processes at once.
	AnswersMax = 128
	// CopiesMax bounds the copied sends of one Queue that are not acknowledged
	// yet. Further sends are not copied.
	CopiesMax = 1024
	// CopiedBytesMax bounds the memory of copied sends larger than smallCopy.
	// Beyond it, such sends are not copied either.
	CopiedBytesMax = 256 << 10
	// IslandsMax bounds the islands (cover.go) of all messages of one Queue.
	IslandsMax = 4096

	ringMin = 16 // slots of a ring that is not empty

	smallCopy = 256 // bytes; room for a copy has this size or Limits.CopyBytes

	freeWorksMax   = 4096 // kept by a Pool, of each kind
	freeLargeMax   = 64   // of these, those with room for a large copy
	freeIslandsMax = 4096
)

// Limits are the limits that the provider above promises in its nic.Caps, in
// bytes except for SegmentsMax. Both sides of a connection must have the same
// MTUBytes, RDMABytesMax and PriorityBytes.
type Limits struct {
	// MTUBytes is the largest message of a send.
	MTUBytes int
	// RDMABytesMax is the largest length of an RDMA write or read.
	RDMABytesMax int
	// SegmentsMax bounds the segments of a descriptor.
	SegmentsMax int
	// PriorityBytes is the largest send that goes on LanePriority.
	PriorityBytes int
	// CopyBytes is the largest send that is copied when it is posted, if the
	// reliability level allows it; not more than MTUBytes. Its owner then need
	// not wait for an ack, which comes late if the other side has nothing to
	// send.
	CopyBytes int
	// InlineBytesMax is the largest message that a receive with nic.FlagLoan
	// takes inside the descriptor; not more than nic.InlineMax.
	InlineBytesMax int
}
