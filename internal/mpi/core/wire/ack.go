package wire

import (
	"encoding/binary"
	"fmt"
)

// AckBytes is the length of an ACK.
const AckBytes = 8

// Ack tells the sender of an EAGER that asked for it that a receive was found. Layout:
//
//	offset  size  field
//	     0     4  credit
//	     4     4  id of the send, not 0
type Ack struct {
	Credit uint32
	ID     uint32
}

func (p Ack) String() string { return fmt.Sprintf("ACK credit=%d id=%d", p.Credit, p.ID) }

// Append appends the packet to dst.
func (p Ack) Append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, p.Credit)
	return binary.LittleEndian.AppendUint32(dst, p.ID)
}

// ParseAck reads an ACK.
func ParseAck(b []byte) (Ack, error) {
	if err := checkLength(KindAck, b, AckBytes); err != nil {
		return Ack{}, err
	}
	p := Ack{Credit: binary.LittleEndian.Uint32(b), ID: binary.LittleEndian.Uint32(b[4:])}
	return p, checkID(KindAck, p.ID)
}
