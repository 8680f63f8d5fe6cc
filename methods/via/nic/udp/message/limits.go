package message

// Limits of the protocol.
const (
	// LanePriority and LaneData are the two lanes; Lanes is how many there are.
	LanePriority, LaneData = 0, 1
	Lanes                  = 2

	// WindowMessages is how many messages beyond the oldest one that is not
	// acknowledged a sender puts on the way, and beyond the oldest one that is
	// not complete a receiver keeps apart.
	WindowMessages = 2048
)

// Limits of this implementation.
const (
	// AnswersMax bounds the answers to reads that one Queue works on at once.
	AnswersMax = 128
	// CopiesMax bounds the sends of one Queue that were copied and are not
	// acknowledged yet. Further ones are not copied.
	CopiesMax = 1024
	// CopiedBytesMax bounds the memory that those have which are larger than
	// smallCopy. Beyond, such sends are not copied either.
	CopiedBytesMax = 256 << 10
	// IslandsMax bounds the pieces, over all messages of one Queue, that
	// arrived behind a gap and do not touch each other.
	IslandsMax = 4096

	ringMin = 16 // places of a ring that is not empty

	smallCopy = 256 // bytes; room for a copy is of this size, or of Limits.CopyBytes

	freeWorksMax   = 4096 // that a Pool keeps of each kind
	freeLargeMax   = 64   // of those with room for a large copy
	freeIslandsMax = 4096
)

// Limits are what the provider above promises in its nic.Caps, in bytes but for
// SegmentsMax. Both sides of a connection must have the same MTUBytes,
// RDMABytesMax and PriorityBytes.
type Limits struct {
	// MTUBytes is the largest message of a send.
	MTUBytes int
	// RDMABytesMax is the largest length of an RDMA write or read.
	RDMABytesMax int
	// SegmentsMax bounds the segments of a descriptor.
	SegmentsMax int
	// PriorityBytes is the largest send that goes on LanePriority.
	PriorityBytes int
	// CopyBytes is the largest send that is copied when it is posted, where
	// the reliability level allows; not more than MTUBytes. Its owner then need
	// not wait for an ack, which comes late if the other side has nothing to say.
	CopyBytes int
	// InlineBytesMax is the largest message that a receive with nic.FlagLoan
	// takes inside the descriptor; not more than nic.InlineMax.
	InlineBytesMax int
}
