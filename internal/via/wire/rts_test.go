package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

func rtsSamples() []sample {
	var samples []sample
	for _, c := range []struct {
		name, comment string
		m             RTS
	}{
		{"closed", "The receiver cannot read the message: no pieces.", RTS{Op: 0x100000002, Size: 100000}},
		{"open", "It can.", RTS{Op: 0x100000002, Size: 100000, Pieces: []Piece{{Addr: 0x7f0000001000, Handle: 0x1122334455667788, Len: 100000}}}},
		{"two_pieces", "", RTS{Op: 1, Size: 100000, Pieces: []Piece{{Addr: 0x1000, Handle: 1, Len: 99999}, {Addr: 0x9000, Handle: 2, Len: 1}}}},
		{"largest", "The size at its limit.", RTS{Op: ^uint64(0), Size: RTSBytesMax, Pieces: []Piece{{Addr: ^uint64(0) - RTSBytesMax, Handle: ^uint64(0), Len: RTSBytesMax}}}},
		{"smallest", "", RTS{Size: 1}},
	} {
		samples = append(samples, sample{
			name: c.name, comment: c.comment, value: &c.m, body: c.m.Append(nil),
			header: header(matchbits.TypeRTS, 42, 0),
		})
	}
	return samples
}

func TestRTS(t *testing.T) { checkSamples(t, "rts", rtsSamples()) }

func TestRTSRefusesTheImpossible(t *testing.T) {
	closed, open := rtsSamples()[0], rtsSamples()[1]
	refuses(t, closed, "no bytes at all", put64(8, 0))
	accepts(t, closed, "largest size", put64(8, RTSBytesMax))
	refuses(t, closed, "size over the limit", put64(8, RTSBytesMax+1))
	refuses(t, closed, "reserved word", put32(20, 1))
	refuses(t, open, "pieces that do not add up", put64(8, 100001))
	refuses(t, open, "empty piece", put64(40, 0))
	refuses(t, open, "piece beyond the end of memory", put64(24, ^uint64(0)))
	refuses(t, open, "more pieces than the limit", put32(16, PiecesMax+1))
}

// The number of pieces comes from outside; the room for them must not.
func TestRTSWithALyingCount(t *testing.T) {
	s := rtsSamples()[1]
	put32(16, PiecesMax)(nil, s.body)
	_, err := decode(s.bytes())
	assert.ErrorIs(t, err, ErrShort)
	put32(16, 0)(nil, s.body)
	_, err = decode(s.bytes())
	assert.ErrorIs(t, err, ErrLong)
}

func TestRTSParseKeepsTheRoomForPieces(t *testing.T) {
	m := RTS{Pieces: manyPieces(3)}
	at := &m.Pieces[0]
	body := (&RTS{Size: 2, Pieces: manyPieces(2)}).Append(nil)
	assert.NoError(t, m.Parse(body))
	assert.Equal(t, manyPieces(2), m.Pieces)
	assert.Same(t, at, &m.Pieces[0])
}

func TestRTSString(t *testing.T) {
	assert.Equal(t, "op=0x100000002 size=100000 pieces=[0x7f0000001000+100000/0x1122334455667788]", rtsSamples()[1].value.String())
}
