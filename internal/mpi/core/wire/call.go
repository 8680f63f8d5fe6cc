package wire

import (
	"encoding/binary"
	"fmt"
)

// CallBytes is the length of a CALL before its body, in bytes.
const CallBytes = 16

// Call asks the receiver to do something for the sender, and to answer with a RETURN. Layout:
//
//	offset  size  field
//	     0     4  credit
//	     4     4  id of the call, not 0
//	     8     2  context
//	    10     1  1: the answer may wait for other processes; 0: it does not
//	    11     1  reserved, 0
//	    12     4  rank of the sender
//	    16     -  the body, to the end
type Call struct {
	Credit  uint32
	ID      uint32
	Context uint16
	Waits   bool
	Rank    uint32
}

func (p Call) String() string {
	return fmt.Sprintf("CALL credit=%d id=%d context=%d waits=%t rank=%d", p.Credit, p.ID, p.Context, p.Waits, p.Rank)
}

// Append appends the packet to dst; the body follows.
func (p Call) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, p.Credit)
	dst = binary.LittleEndian.AppendUint32(dst, p.ID)
	dst = binary.LittleEndian.AppendUint16(dst, p.Context)
	waits := byte(0)
	if p.Waits {
		waits = 1
	}
	dst = append(dst, waits, 0)
	return binary.LittleEndian.AppendUint32(dst, p.Rank)
}

// ParseCall reads a CALL. The body is a part of b.
func ParseCall(b []byte) (p Call, body []byte, err error) {
	if len(b) < CallBytes {
		return Call{}, nil, fmt.Errorf("%w: %v has %d bytes, want at least %d", ErrLength, KindCall, len(b), CallBytes)
	}
	p = Call{
		Credit:  binary.LittleEndian.Uint32(b),
		ID:      binary.LittleEndian.Uint32(b[4:]),
		Context: binary.LittleEndian.Uint16(b[8:]),
		Waits:   b[10] == 1,
		Rank:    binary.LittleEndian.Uint32(b[12:]),
	}
	switch {
	case b[10] > 1:
		return Call{}, nil, fmt.Errorf("%w: %v says %d", ErrValue, KindCall, b[10])
	case b[11] != 0:
		return Call{}, nil, reserved(KindCall)
	}
	return p, b[CallBytes:], checkID(KindCall, p.ID)
}
