package wire

import (
	"encoding/binary"
	"fmt"
)

const (
	// PieceBytes is the length of a Piece.
	PieceBytes = 16
	// PiecesMax limits the pieces of a message. A message with more is gathered first.
	PiecesMax = 256
)

// A Piece is a part of a message in the arena: offset and length, in bytes.
type Piece struct{ Off, Len uint64 }

// AppendPiece appends a piece.
func AppendPiece(b []byte, p Piece) []byte {
	b = binary.LittleEndian.AppendUint64(b, p.Off)
	return binary.LittleEndian.AppendUint64(b, p.Len)
}

// ParsePieces appends the pieces behind the Head of a record to pieces. It checks that each lies
// within an arena of arena bytes, and that together they have size bytes.
func ParsePieces(pieces []Piece, b []byte, arena, size uint64) ([]Piece, error) {
	n := len(b) / PieceBytes
	if n == 0 || n > PiecesMax || len(b)%PieceBytes != 0 {
		return pieces, fmt.Errorf("%w: %d bytes of pieces", ErrInvalid, len(b))
	}
	left := size
	for ; len(b) > 0; b = b[PieceBytes:] {
		p := Piece{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
		if p.Off > arena || p.Len > arena-p.Off || p.Len > left {
			return pieces, fmt.Errorf("%w: a piece of %d bytes at %d, of a message with %d left, in an arena of %d", ErrInvalid, p.Len, p.Off, left, arena)
		}
		left -= p.Len
		pieces = append(pieces, p)
	}
	if left > 0 {
		return pieces, fmt.Errorf("%w: pieces lack %d bytes of the message", ErrInvalid, left)
	}
	return pieces, nil
}
