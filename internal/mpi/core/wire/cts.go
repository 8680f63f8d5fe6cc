package wire

import (
	"encoding/binary"
	"fmt"
	"math"
)

// CTSBytes is the length of a CTS.
const CTSBytes = 24

// CTS answers an RTS that has matched a receive: the message may be sent now, in expected messages
// of bmi. Layout:
//
//	offset  size  field
//	     0     4  credit
//	     4     4  id of the send, not 0
//	     8     8  bytes wanted, from the message's beginning; at most 2⁶³−1
//	    16     4  the size of every piece but the last, in bytes; 0: all in one
//	    20     4  tag of the expected messages in bmi
type CTS struct {
	Credit  uint32
	ID      uint32
	Granted uint64 // at most the message's size
	Piece   uint32
	Tag     uint32
}

func (p CTS) String() string {
	return fmt.Sprintf("CTS credit=%d id=%d granted=%d piece=%d tag=%d", p.Credit, p.ID, p.Granted, p.Piece, p.Tag)
}

// Append appends the packet to dst.
func (p CTS) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, p.Credit)
	dst = binary.LittleEndian.AppendUint32(dst, p.ID)
	dst = binary.LittleEndian.AppendUint64(dst, p.Granted)
	dst = binary.LittleEndian.AppendUint32(dst, p.Piece)
	return binary.LittleEndian.AppendUint32(dst, p.Tag)
}

// ParseCTS reads a CTS.
func ParseCTS(b []byte) (CTS, error) {
	if err := checkLength(KindCTS, b, CTSBytes); err != nil {
		return CTS{}, err
	}
	p := CTS{
		Credit:  binary.LittleEndian.Uint32(b),
		ID:      binary.LittleEndian.Uint32(b[4:]),
		Granted: binary.LittleEndian.Uint64(b[8:]),
		Piece:   binary.LittleEndian.Uint32(b[16:]),
		Tag:     binary.LittleEndian.Uint32(b[20:]),
	}
	if p.Granted > math.MaxInt64 {
		return CTS{}, fmt.Errorf("%w: %v grants %d bytes", ErrValue, KindCTS, p.Granted)
	}
	return p, checkID(KindCTS, p.ID)
}
