package wire

import (
	"encoding/binary"
	"fmt"
)

// Data carries a part of a large message that the NIC cannot move by RDMA.
// The payload follows the body's fixed part to the end of the packet.
type Data struct {
	RecvOp uint64 // from the CTS
	Offset uint64 // of the payload in the message, in bytes
}

// DataFixed is the length of the body before the payload, in bytes.
const DataFixed = 16

// Append appends the fixed part of the body.
func (m Data) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, m.RecvOp)
	return binary.LittleEndian.AppendUint64(b, m.Offset)
}

// ParseData reads a body and returns its payload, which is never empty.
func ParseData(b []byte) (m Data, payload []byte, err error) {
	if len(b) <= DataFixed {
		return Data{}, nil, ErrShort
	}
	m.RecvOp = binary.LittleEndian.Uint64(b)
	m.Offset = binary.LittleEndian.Uint64(b[8:])
	if m.Offset > RTSBytesMax {
		return Data{}, nil, ErrInvalid
	}
	return m, b[DataFixed:], nil
}

func (m Data) String() string { return fmt.Sprintf("recv=%#x offset=%d", m.RecvOp, m.Offset) }
