package wire

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// A Piece is registered memory of the packet's sender, open to RDMA.
type Piece struct {
	Addr   uint64 // in the terms of the sender's NIC
	Handle uint64 // as the sender's NIC registered it
	Len    uint64 // bytes
}

// PieceLen is the encoded length of a piece and PiecesMax the most that a
// packet may carry.
const (
	PieceLen  = 24
	PiecesMax = 64
)

func appendPieces(b []byte, pieces []Piece) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(pieces)))
	b = binary.LittleEndian.AppendUint32(b, 0)
	for _, p := range pieces {
		b = binary.LittleEndian.AppendUint64(b, p.Addr)
		b = binary.LittleEndian.AppendUint64(b, p.Handle)
		b = binary.LittleEndian.AppendUint64(b, p.Len)
	}
	return b
}

// parsePieces reads a list that must end exactly with b and, if it is not
// empty, add up to total bytes. It appends to into.
func parsePieces(b []byte, total uint64, into []Piece) ([]Piece, error) {
	if len(b) < 8 {
		return into, ErrShort
	}
	n := binary.LittleEndian.Uint32(b)
	if n > PiecesMax || binary.LittleEndian.Uint32(b[4:]) != 0 {
		return into, ErrInvalid
	}
	b = b[8:]
	if err := exactly(b, int(n)*PieceLen); err != nil {
		return into, err
	}
	var sum uint64
	for ; len(b) > 0; b = b[PieceLen:] {
		p := Piece{
			Addr:   binary.LittleEndian.Uint64(b),
			Handle: binary.LittleEndian.Uint64(b[8:]),
			Len:    binary.LittleEndian.Uint64(b[16:]),
		}
		if p.Len == 0 || p.Len > total-sum || p.Addr+p.Len < p.Addr {
			return into, ErrInvalid
		}
		sum += p.Len
		into = append(into, p)
	}
	if n > 0 && sum != total {
		return into, ErrInvalid
	}
	return into, nil
}

// exactly reports whether b has n bytes.
func exactly(b []byte, n int) error {
	switch {
	case len(b) < n:
		return ErrShort
	case len(b) > n:
		return ErrLong
	}
	return nil
}

func piecesString(pieces []Piece) string {
	var s strings.Builder
	for i, p := range pieces {
		if i > 0 {
			s.WriteByte(' ')
		}
		fmt.Fprintf(&s, "%#x+%d/%#x", p.Addr, p.Len, p.Handle)
	}
	return "[" + s.String() + "]"
}
