package core

// Wildcards and the null process, as MPI-4.1 has them in 3.2.4 and 3.10.
const (
	AnySource = -1
	AnyTag    = -1
	ProcNull  = -2
)

// TagMax is the largest tag.
const TagMax = 1<<tagBits - 1

// SizeMax is the largest number of processes in a scope.
const SizeMax = 1 << sourceBits

// A ContextID separates the messages of one scope from those of all others. Even ones are
// for messages between two processes, odd ones for collective operations.
type ContextID uint16

// A Mode is how a send ends (MPI-4.1, 3.4).
type Mode uint8

// Modes of sends.
const (
	Standard    Mode = iota // when the buffer is free again
	Synchronous             // when a receive for it has begun as well
	Ready                   // as Standard; the receive is known to be posted
	Buffered                // at once, after a copy
)

// A Status tells of a message that was received, or sent.
type Status struct {
	Source, Tag int
	Bytes       int // of data, those that did not fit included
	Cancelled   bool
}

// Empty is the status of what has nothing to tell (MPI-4.1, 3.7.3).
var Empty = Status{Source: AnySource, Tag: AnyTag}
