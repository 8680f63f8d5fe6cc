package wire

import (
	"encoding/binary"
	"fmt"
)

// CTS answers an RTS whose message has a receive and asks the sender to move a
// part of it.
type CTS struct {
	SendOp uint64 // from the RTS
	RecvOp uint64 // the receiver's operation, opaque to the sender
	// From is where the sender's part begins: it moves [From, Size). The
	// receiver reads [0, From) itself.
	From uint64
	// Size is the size of the message, from the RTS.
	Size uint64
	// Pieces are where the sender's part goes by RDMA write. Without any, the
	// sender moves it in DATA packets.
	Pieces []Piece
}

const ctsFixed = 32

// Len is the encoded length of the body, in bytes.
func (m *CTS) Len() int { return ctsFixed + 8 + len(m.Pieces)*PieceLen }

// Append appends the body of the packet.
func (m *CTS) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, m.SendOp)
	b = binary.LittleEndian.AppendUint64(b, m.RecvOp)
	b = binary.LittleEndian.AppendUint64(b, m.From)
	b = binary.LittleEndian.AppendUint64(b, m.Size)
	return appendPieces(b, m.Pieces)
}

// Parse reads a body into m and keeps the room that m.Pieces has.
func (m *CTS) Parse(b []byte) (err error) {
	if len(b) < ctsFixed {
		return ErrShort
	}
	m.SendOp = binary.LittleEndian.Uint64(b)
	m.RecvOp = binary.LittleEndian.Uint64(b[8:])
	m.From = binary.LittleEndian.Uint64(b[16:])
	m.Size = binary.LittleEndian.Uint64(b[24:])
	if m.Size > RTSBytesMax || m.From > m.Size {
		return ErrInvalid
	}
	m.Pieces, err = parsePieces(b[ctsFixed:], m.Size-m.From, m.Pieces[:0])
	return err
}

func (m *CTS) String() string {
	return fmt.Sprintf("send=%#x recv=%#x from=%d size=%d pieces=%s",
		m.SendOp, m.RecvOp, m.From, m.Size, piecesString(m.Pieces))
}
