package wire

import (
	"encoding/binary"
	"fmt"
)

// ReturnBytes is the length of a RETURN before its body, in bytes.
const ReturnBytes = 8

// Return answers a CALL. Layout:
//
//	offset  size  field
//	     0     4  credit
//	     4     4  id of the call, not 0
//	     8     -  the body, to the end
type Return struct {
	Credit uint32
	ID     uint32
}

func (p Return) String() string { return fmt.Sprintf("RETURN credit=%d id=%d", p.Credit, p.ID) }

// Append appends the packet to dst; the body follows.
func (p Return) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, p.Credit)
	return binary.LittleEndian.AppendUint32(dst, p.ID)
}

// ParseReturn reads a RETURN. The body is a part of b.
func ParseReturn(b []byte) (p Return, body []byte, err error) {
	if len(b) < ReturnBytes {
		return Return{}, nil, fmt.Errorf("%w: %v has %d bytes, want at least %d", ErrLength, KindReturn, len(b), ReturnBytes)
	}
	p.Credit = binary.LittleEndian.Uint32(b)
	p.ID = binary.LittleEndian.Uint32(b[4:])
	return p, b[ReturnBytes:], checkID(KindReturn, p.ID)
}
