package bmi

// An Op is one posted operation, lent to a method until Complete. The exported
// fields are set by the endpoint before the post and are read-only for the
// method, but for Private.
type Op struct {
	Kind  Kind
	Class Class // KindSendUnexpected
	Tag   Tag
	Peer  Peer // the remote endpoint: destination, or whom to receive from
	// Bufs are the pieces of the message in order; at least one, each of any
	// length. Size is the sum of their lengths.
	Bufs [][]byte
	Size int

	// Private is the method's own; nil when the operation is posted.
	Private any
}

// Complete ends the operation; the method calls it exactly once, from within
// any of its own calls. size is the number of bytes moved; for a receive the
// length of the message, also when err is ErrTruncated. The method must not
// touch the Op or its Bufs afterwards.
func (op *Op) Complete(size int, err error) {}
