package wire

import (
	"encoding/binary"
	"fmt"
)

// CreditBytes is the length of a CREDIT.
const CreditBytes = 4

// Credit tells how much was consumed when no other packet carries that count. Layout:
//
//	offset  size  field
//	     0     4  credit
type Credit struct {
	Credit uint32
}

func (p Credit) String() string { return fmt.Sprintf("CREDIT credit=%d", p.Credit) }

// Append appends the packet to dst.
func (p Credit) Append(dst []byte) []byte { return binary.LittleEndian.AppendUint32(dst, p.Credit) }

// ParseCredit reads a CREDIT.
func ParseCredit(b []byte) (Credit, error) {
	if err := checkLength(KindCredit, b, CreditBytes); err != nil {
		return Credit{}, err
	}
	return Credit{Credit: binary.LittleEndian.Uint32(b)}, nil
}
