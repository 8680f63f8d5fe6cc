package core

// Wildcards and the null process (MPI-4.1, 3.2.4 and 3.10).
const (
	AnySource = -1
	AnyTag    = -1
	ProcNull  = -2
)

// TagMax is the largest tag.
const TagMax = 1<<tagBits - 1

// SizeMax is the largest number of processes in a scope.
const SizeMax = 1 << sourceBits

// A ContextID separates the messages of one scope from those of all others. Even ids are for
// point-to-point messages, odd ones for collective operations.
type ContextID uint16

// A Mode says when a send is complete (MPI-4.1, 3.4).
type Mode uint8

// Modes of sends.
const (
	Standard    Mode = iota // when the buffer is free again
	Synchronous             // when a receive for it has begun as well
	Ready                   // as Standard; the receive is known to be posted
	Buffered                // at once, after a copy
)

// A Status describes a message that was received or sent.
type Status struct {
	Source, Tag int
	Bytes       int // of data, including bytes that did not fit
	Cancelled   bool
}

// Empty is the status of an operation without a message (MPI-4.1, 3.7.3).
var Empty = Status{Source: AnySource, Tag: AnyTag}
