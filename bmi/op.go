package bmi

// An Op is one posted operation, lent to a method until Complete. The endpoint
// sets the exported fields before the post. The method may change only Private and Note.
type Op struct {
	Kind  Kind
	Class Class // KindSendUnexpected
	state opState
	Tag   Tag
	Peer  Peer // the remote endpoint: the destination of a send or the source of a receive
	// Bufs are the pieces of the message in order; at least one, each of any
	// length. Size is the sum of their lengths.
	Bufs [][]byte
	Size int
	// File replaces Bufs in an operation for FileSender.PostSendFile.
	File FileRange

	// Private and Note belong to the method. Private is nil when the operation is posted. Note has
	// an old value, which the previous operation in this Op left.
	Private any
	Note    [2]uint64

	links opLinks // in an OpList: of the method, and of the completed ones
	free  *Op     // of a free operation: the next one of the lane
	lane  *lane
	call  *call // of a blocking function, which receives the completion
	id    OpID  // names the operation within its context; changes whenever it has been used

	size int
	err  error
	user any
	span span

	done func(op *Op, size int, err error) // of a Host that is not an endpoint, else nil

	one  [1][]byte // backs Bufs of a message in one piece
	list [][]byte  // backs Bufs of a list, kept for its capacity
}

// opState is the state of an operation:
//
//	free → posting → done → free               (completed within the post)
//	free → posting → posted → completed → free (returned by a Test call)
//
// An operation that fails within its post goes from posting to completed.
type opState uint8

const (
	opFree opState = iota
	opPosting
	opDone
	opPosted
	opCompleted
)

// Complete ends the operation. The method calls it exactly once, from within any
// of its own calls. size is the number of bytes moved; for a receive it is the
// length of the message, even if err is ErrTruncated. The operation leaves the OpList
// that it is in. The method must not touch the Op or its Bufs afterwards.
func (op *Op) Complete(size int, err error) {
	if op.done != nil {
		op.Leave()
		op.done(op, size, err)
		return
	}
	op.size, op.err = size, err
	if op.span.id != 0 {
		op.lane.in.trace.ended(op)
	}
	if op.state != opPosted {
		if op.state != opPosting {
			panic("bmi: a method completed an operation that it does not own")
		}
		if err == nil {
			op.Leave()
			op.state = opDone
			return
		}
	}
	op.state = opCompleted
	l := op.lane
	if op.call != nil {
		op.call.completeLocked(op)
	} else {
		l.completed.Add(op)
	}
	if l.ctx.waits.Waiting() {
		l.in.ep.monitor.WakeList(&l.ctx.waits)
	}
}

// ID layout, most significant first: 8 bits method, 20 bits slot, 36 bits
// generation.
const (
	genBits  = 36
	slotBits = 20
	genMax   = 1<<genBits - 1
	slotsMax = 1 << slotBits

	methodsMax = 1 << (64 - genBits - slotBits)
)

// newID is the first id of an operation; 0 ≤ method < methodsMax, 0 ≤ slot < slotsMax.
func newID(method, slot int) OpID {
	return OpID(uint64(method)<<(genBits+slotBits) | uint64(slot)<<genBits | 1)
}

// next is the id that follows, with a generation from 1 to genMax.
func (id OpID) next() OpID {
	if id.gen() == genMax {
		return id&^genMax + 1
	}
	return id + 1
}

func (id OpID) method() int { return int(id >> (genBits + slotBits)) }
func (id OpID) slot() int   { return int(id>>genBits) & (slotsMax - 1) }
func (id OpID) gen() uint64 { return uint64(id) & genMax }
