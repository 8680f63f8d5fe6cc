package bmi

import "time"

// Tag distinguishes messages between two endpoints; matching is exact.
type Tag uint32

// Class distinguishes unexpected messages of several services that share an
// endpoint.
type Class uint8

// OpID names a posted operation within its context. It is never 0. It is not used
// again for a long time after a Test call returned the operation.
type OpID uint64

// Kind says what an operation does.
type Kind uint8

const (
	KindSend Kind = iota
	KindSendUnexpected
	KindRecv
)

// Forever waits without a limit.
const Forever time.Duration = -1

// Posted is the answer to a successful post.
type Posted struct {
	// Op is the operation's id; 0 if it completed immediately.
	Op OpID
	// Done: the operation completed successfully within the post. No Test call
	// will return it, and the buffer is the caller's again.
	Done bool
	// Size is, if Done, the number of bytes moved.
	Size int
}

// Completion is the end of an operation.
type Completion struct {
	Op   OpID
	Err  error // nil, or why the operation failed
	Size int   // bytes moved; for a receive the length of the message
	User any   // as given to the post
}
