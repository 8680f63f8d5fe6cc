package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/matchbits"
)

func ctsSamples() []sample {
	var samples []sample
	for _, c := range []struct {
		name, comment string
		m             CTS
	}{
		{"data", "The sender moves all of it in DATA packets.", CTS{SendOp: 0x100000002, RecvOp: 0x300000004, Size: 100000}},
		{"write", "The sender writes all of it.", CTS{SendOp: 0x100000002, RecvOp: 0x300000004, Size: 100000, Pieces: []Piece{{Addr: 0x7f0000001000, Handle: 9, Len: 100000}}}},
		{"split", "The sender writes the second part while the receiver reads the first.", CTS{SendOp: 0x100000002, RecvOp: 0x300000004, From: 49984, Size: 100000, Pieces: []Piece{{Addr: 0x7f000000d340, Handle: 9, Len: 16}, {Addr: 0x7f0000020000, Handle: 10, Len: 50000}}}},
		{"largest", "The size at its limit.", CTS{SendOp: ^uint64(0), RecvOp: ^uint64(0), From: RTSBytesMax - 1, Size: RTSBytesMax}},
	} {
		samples = append(samples, sample{
			name: c.name, comment: c.comment, value: &c.m, body: c.m.Append(nil),
			header: header(matchbits.TypeCTS, 0, 0),
		})
	}
	return samples
}

func TestCTS(t *testing.T) { checkSamples(t, "cts", ctsSamples()) }

func TestCTSRefusesTheImpossible(t *testing.T) {
	data, split := ctsSamples()[0], ctsSamples()[2]
	refuses(t, data, "size over the limit", put64(24, RTSBytesMax+1))
	accepts(t, data, "the last byte alone", put64(16, 99999))
	refuses(t, data, "part that begins behind the message", put64(16, 100001))
	refuses(t, data, "reserved word", put32(36, 1))
	refuses(t, split, "pieces for more than the part", put64(16, 49985))
	refuses(t, split, "pieces for less than the part", put64(16, 49983))
	refuses(t, split, "empty piece", put64(56, 0))
	refuses(t, split, "more pieces than the limit", put32(32, PiecesMax+1))
}

func TestCTSString(t *testing.T) {
	assert.Equal(t, "send=0x100000002 recv=0x300000004 from=49984 size=100000 pieces=[0x7f000000d340+16/0x9 0x7f0000020000+50000/0xa]",
		ctsSamples()[2].value.String())
}
