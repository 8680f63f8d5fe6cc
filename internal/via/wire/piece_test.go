package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPieces(t *testing.T) {
	two := []Piece{{Addr: 0x1000, Handle: 1, Len: 6}, {Addr: 0x2000, Handle: 2, Len: 4}}
	got, err := parsePieces(appendPieces(nil, two), 10, nil)
	assert.NoError(t, err)
	assert.Equal(t, two, got)

	none, err := parsePieces(appendPieces(nil, nil), 10, nil)
	assert.NoError(t, err, "no pieces need not add up")
	assert.Empty(t, none)
}

func TestPiecesRefuseTheImpossible(t *testing.T) {
	for name, c := range map[string]struct {
		pieces []Piece
		total  uint64
	}{
		"less than the total":            {[]Piece{{Addr: 1, Len: 9}}, 10},
		"more than the total":            {[]Piece{{Addr: 1, Len: 11}}, 10},
		"more in the second":             {[]Piece{{Addr: 1, Len: 9}, {Addr: 1, Len: 2}}, 10},
		"sum that overflows":             {[]Piece{{Addr: 0, Len: 9}, {Addr: 0, Len: ^uint64(0)}}, 8},
		"empty piece":                    {[]Piece{{Addr: 1, Len: 10}, {Addr: 1}}, 10},
		"beyond the end of memory":       {[]Piece{{Addr: ^uint64(0) - 3, Len: 10}}, 10},
		"piece for a message of 0 bytes": {[]Piece{{Addr: 1, Len: 1}}, 0},
		"one more than the limit":        {manyPieces(PiecesMax + 1), PiecesMax + 1},
	} {
		_, err := parsePieces(appendPieces(nil, c.pieces), c.total, nil)
		assert.ErrorIs(t, err, ErrInvalid, name)
	}
	_, err := parsePieces(appendPieces(nil, manyPieces(PiecesMax)), PiecesMax, nil)
	assert.NoError(t, err)
}

// manyPieces returns n pieces of one byte.
func manyPieces(n int) (pieces []Piece) {
	for i := range n {
		pieces = append(pieces, Piece{Addr: uint64(i), Handle: uint64(i) + 1, Len: 1})
	}
	return pieces
}

func TestPiecesString(t *testing.T) {
	assert.Equal(t, "[]", piecesString(nil))
	assert.Equal(t, "[0x0+1/0x1 0x1+1/0x2]", piecesString(manyPieces(2)))
}
