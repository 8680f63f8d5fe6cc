package wire

import (
	"encoding/binary"
	"fmt"
)

// CancelledBytes is the length of a CANCELLED.
const CancelledBytes = 12

// Cancelled answers a CANCEL. Layout:
//
//	offset  size  field
//	     0     4  credit
//	     4     4  id of the send, not 0
//	     8     1  1 if the message is forgotten, 0 if a receive has it
//	     9     3  reserved, 0
type Cancelled struct {
	Credit uint32
	ID     uint32
	Done   bool
}

func (p Cancelled) String() string {
	return fmt.Sprintf("CANCELLED credit=%d id=%d done=%v", p.Credit, p.ID, p.Done)
}

// Append appends the packet to dst.
func (p Cancelled) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, p.Credit)
	dst = binary.LittleEndian.AppendUint32(dst, p.ID)
	var done uint32
	if p.Done {
		done = 1
	}
	return binary.LittleEndian.AppendUint32(dst, done)
}

// ParseCancelled reads a CANCELLED.
func ParseCancelled(b []byte) (Cancelled, error) {
	if err := checkLength(KindCancelled, b, CancelledBytes); err != nil {
		return Cancelled{}, err
	}
	p := Cancelled{
		Credit: binary.LittleEndian.Uint32(b),
		ID:     binary.LittleEndian.Uint32(b[4:]),
		Done:   b[8] == 1,
	}
	if b[9]|b[10]|b[11] != 0 {
		return Cancelled{}, reserved(KindCancelled)
	}
	if b[8] > 1 {
		return Cancelled{}, fmt.Errorf("%w: %v says %d, neither yes nor no", ErrValue, KindCancelled, b[8])
	}
	return p, checkID(KindCancelled, p.ID)
}
