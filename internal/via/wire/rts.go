package wire

import (
	"encoding/binary"
	"fmt"
)

// RTS announces a large expected message (type RTS, tag of the message). The
// receiver answers, once a receive matches, with CTS or, if it needs no help
// of the sender, with FIN alone.
type RTS struct {
	Op     uint64  // the sender's operation, opaque to the receiver
	Size   uint64  // of the message, in bytes; 1 ≤ Size ≤ RTSBytesMax
	Pieces []Piece // where it lies, if the receiver may read it there; else none
}

// RTSBytesMax is the largest message that a rendezvous can move: 1 TiB.
const RTSBytesMax = 1 << 40

const rtsFixed = 16

// Len is the encoded length of the body, in bytes.
func (m *RTS) Len() int { return rtsFixed + 8 + len(m.Pieces)*PieceLen }

// Append appends the body of the packet.
func (m *RTS) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, m.Op)
	b = binary.LittleEndian.AppendUint64(b, m.Size)
	return appendPieces(b, m.Pieces)
}

// Parse reads a body into m and keeps the room that m.Pieces has.
func (m *RTS) Parse(b []byte) (err error) {
	if len(b) < rtsFixed {
		return ErrShort
	}
	m.Op = binary.LittleEndian.Uint64(b)
	m.Size = binary.LittleEndian.Uint64(b[8:])
	if m.Size == 0 || m.Size > RTSBytesMax {
		return ErrInvalid // nothing to move: there would be neither CTS nor FIN
	}
	m.Pieces, err = parsePieces(b[rtsFixed:], m.Size, m.Pieces[:0])
	return err
}

func (m *RTS) String() string {
	return fmt.Sprintf("op=%#x size=%d pieces=%s", m.Op, m.Size, piecesString(m.Pieces))
}
