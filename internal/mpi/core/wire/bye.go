package wire

import (
	"encoding/binary"
	"fmt"
)

// ByeBytes is the length of a BYE.
const ByeBytes = 4

// Bye is the last packet to a peer: the sender leaves in good order. Layout:
//
//	offset  size  field
//	     0     4  credit
type Bye struct {
	Credit uint32
}

func (p Bye) String() string { return fmt.Sprintf("BYE credit=%d", p.Credit) }

// Append appends the packet to dst.
func (p Bye) Append(dst []byte) []byte { return binary.LittleEndian.AppendUint32(dst, p.Credit) }

// ParseBye reads a BYE.
func ParseBye(b []byte) (Bye, error) {
	if err := checkLength(KindBye, b, ByeBytes); err != nil {
		return Bye{}, err
	}
	return Bye{Credit: binary.LittleEndian.Uint32(b)}, nil
}
