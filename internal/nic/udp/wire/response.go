package wire

import (
	"encoding/binary"
	"fmt"
)

// Response answers an Init that was accepted or rejected.
//
//	 0      1      2      4    8       16     20     22     24
//	+------+------+------+----+-------+------+------+------+--------+
//	| kind | mode | zero | to | nonce | from | port | zero | sealed |
//	+------+------+------+----+-------+------+------+------+--------+
//
// Sealed holds a ResponsePayload: the second message of the Noise handshake; in
// ModeInsecure the payload followed by zeros, with a CRC-32C of the whole packet
// in the last four bytes. From and port are here for tools that inspect packets;
// the receiver requires the same values in the payload.
type Response struct {
	Mode   Mode
	To     uint32 // from of the Init
	Nonce  uint64 // of the Init
	From   uint32 // the sender's id of the connection; 0 if it rejects
	Port   uint16 // UDP port of the sender's data lane
	Sealed []byte // ResponseSealed bytes; in a parsed packet a view of it
}

// Lengths of a RESPONSE, in bytes.
const (
	ResponseBytes  = 232
	ResponseClear  = 24 // the part that is not sealed
	ResponseSealed = ResponseBytes - ResponseClear
)

// Append appends the packet to b. Sealed must have ResponseSealed bytes, or none
// if the caller appends them.
func (m *Response) Append(b []byte) []byte {
	b = append(b, byte(KindResponse), byte(m.Mode), 0, 0)
	b = binary.LittleEndian.AppendUint32(b, m.To)
	b = binary.LittleEndian.AppendUint64(b, m.Nonce)
	b = binary.LittleEndian.AppendUint32(b, m.From)
	b = binary.LittleEndian.AppendUint16(b, m.Port)
	b = append(b, 0, 0)
	return append(b, m.Sealed...)
}

// ParseResponse reads a packet.
func ParseResponse(b []byte) (m Response, err error) {
	if err := starts(b, KindResponse, ResponseBytes); err != nil {
		return Response{}, err
	}
	if err := sized(b, ResponseBytes); err != nil {
		return Response{}, err
	}
	m = Response{
		Mode:   Mode(b[1]),
		To:     binary.LittleEndian.Uint32(b[4:]),
		Nonce:  binary.LittleEndian.Uint64(b[8:]),
		From:   binary.LittleEndian.Uint32(b[16:]),
		Port:   binary.LittleEndian.Uint16(b[20:]),
		Sealed: b[ResponseClear:],
	}
	if m.To == 0 || !m.Mode.valid() || !allZero(b[2:4]) || !allZero(b[22:24]) {
		return Response{}, ErrInvalid
	}
	return m, nil
}

func (m Response) String() string {
	return fmt.Sprintf("RESPONSE mode=%v to=%#x nonce=%#x from=%#x port=%d", m.Mode, m.To, m.Nonce, m.From, m.Port)
}
