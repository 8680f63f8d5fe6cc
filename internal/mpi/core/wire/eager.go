package wire

import (
	"encoding/binary"
	"fmt"
)

// EagerBytes is the length of an EAGER before the message, in bytes.
const EagerBytes = 16

// Eager carries a whole message. Layout:
//
//	offset  size  field
//	     0     4  credit
//	     4     4  id of the send, 0 if no ACK is wanted
//	     8     8  match bits
//	    16     -  the message, to the end
type Eager struct {
	Credit uint32 // bytes of the receiver's charges that the sender has consumed, mod 2³²
	ID     uint32
	Bits   uint64
}

func (p Eager) String() string {
	return fmt.Sprintf("EAGER credit=%d id=%d bits=%#016x", p.Credit, p.ID, p.Bits)
}

// Append appends the packet to dst; the message follows.
func (p Eager) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, p.Credit)
	dst = binary.LittleEndian.AppendUint32(dst, p.ID)
	return binary.LittleEndian.AppendUint64(dst, p.Bits)
}

// ParseEager reads an EAGER. The message is a part of b.
func ParseEager(b []byte) (p Eager, message []byte, err error) {
	if len(b) < EagerBytes {
		return Eager{}, nil, fmt.Errorf("%w: %v has %d bytes, want at least %d", ErrLength, KindEager, len(b), EagerBytes)
	}
	p.Credit = binary.LittleEndian.Uint32(b)
	p.ID = binary.LittleEndian.Uint32(b[4:])
	p.Bits = binary.LittleEndian.Uint64(b[8:])
	return p, b[EagerBytes:], nil
}
