package wire

import "fmt"

// The aux word of an EXPECTED or UNEXPECTED packet tells a message's first
// packet from its next ones:
//
//	first:  0 | length of the whole message (23 bits) | class (8 bits)
//	next:   1 | offset of this packet's payload in the message (31 bits)
const (
	auxNext        = 1 << 31
	auxLengthShift = 8
	auxLengthBits  = 23
)

// EagerBytesLimit is the largest message that the eager format can describe.
const EagerBytesLimit = 1<<auxLengthBits - 1

// EagerFirst is the aux word of the first packet of an eager message. The
// payload, or its beginning, follows the header.
type EagerFirst struct {
	Length int   // of the whole message, in bytes; 0 ≤ Length ≤ EagerBytesLimit
	Class  uint8 // of an unexpected message; 0 for an expected one
}

// Aux packs the word.
func (e EagerFirst) Aux() uint32 {
	return uint32(e.Length)<<auxLengthShift | uint32(e.Class)
}

// ParseEagerFirst unpacks an aux word for which IsNext is false.
func ParseEagerFirst(aux uint32) EagerFirst {
	return EagerFirst{Length: int(aux >> auxLengthShift & EagerBytesLimit), Class: uint8(aux)}
}

func (e EagerFirst) String() string {
	return fmt.Sprintf("length=%d class=%d", e.Length, e.Class)
}
