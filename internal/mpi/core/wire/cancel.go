package wire

import (
	"encoding/binary"
	"fmt"
)

// CancelBytes is the length of a CANCEL.
const CancelBytes = 8

// Cancel asks the peer to drop a send's message that no receive has matched yet. Layout:
//
//	offset  size  field
//	     0     4  credit
//	     4     4  id of the send, not 0
type Cancel struct {
	Credit uint32
	ID     uint32
}

func (p Cancel) String() string { return fmt.Sprintf("CANCEL credit=%d id=%d", p.Credit, p.ID) }

// Append appends the packet to dst.
func (p Cancel) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, p.Credit)
	return binary.LittleEndian.AppendUint32(dst, p.ID)
}

// ParseCancel reads a CANCEL.
func ParseCancel(b []byte) (Cancel, error) {
	if err := checkLength(KindCancel, b, CancelBytes); err != nil {
		return Cancel{}, err
	}
	p := Cancel{Credit: binary.LittleEndian.Uint32(b), ID: binary.LittleEndian.Uint32(b[4:])}
	return p, checkID(KindCancel, p.ID)
}
