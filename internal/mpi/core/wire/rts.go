package wire

import (
	"encoding/binary"
	"fmt"
	"math"
)

// RTSBytes is the length of an RTS.
const RTSBytes = 32

// RTS announces a message that is too long to be sent eagerly. Layout:
//
//	offset  size  field
//	     0     4  credit
//	     4     4  id of the send, not 0
//	     8     8  match bits
//	    16     8  size of the message in bytes, at most 2⁶³−1
//	    24     4  the largest piece that the sender can send, in bytes; 0: no limit
//	    28     4  reserved, 0
type RTS struct {
	Credit uint32
	ID     uint32
	Bits   uint64
	Size   uint64
	Piece  uint32
}

func (p RTS) String() string {
	return fmt.Sprintf("RTS credit=%d id=%d bits=%#016x size=%d piece=%d", p.Credit, p.ID, p.Bits, p.Size, p.Piece)
}

// Append appends the packet to dst.
func (p RTS) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, p.Credit)
	dst = binary.LittleEndian.AppendUint32(dst, p.ID)
	dst = binary.LittleEndian.AppendUint64(dst, p.Bits)
	dst = binary.LittleEndian.AppendUint64(dst, p.Size)
	dst = binary.LittleEndian.AppendUint32(dst, p.Piece)
	return binary.LittleEndian.AppendUint32(dst, 0)
}

// ParseRTS reads an RTS.
func ParseRTS(b []byte) (RTS, error) {
	if err := checkLength(KindRTS, b, RTSBytes); err != nil {
		return RTS{}, err
	}
	p := RTS{
		Credit: binary.LittleEndian.Uint32(b),
		ID:     binary.LittleEndian.Uint32(b[4:]),
		Bits:   binary.LittleEndian.Uint64(b[8:]),
		Size:   binary.LittleEndian.Uint64(b[16:]),
		Piece:  binary.LittleEndian.Uint32(b[24:]),
	}
	if binary.LittleEndian.Uint32(b[28:]) != 0 {
		return RTS{}, reserved(KindRTS)
	}
	if p.Size > math.MaxInt64 {
		return RTS{}, fmt.Errorf("%w: %v of %d bytes", ErrValue, KindRTS, p.Size)
	}
	return p, checkID(KindRTS, p.ID)
}
