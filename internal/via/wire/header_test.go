package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/matchbits"
)

func headers() []Header {
	return []Header{
		{Bits: matchbits.Make(matchbits.TypeConnReq, 0, 0, 0), Seq: 1},
		{Bits: matchbits.Make(matchbits.TypeExpected, 3, 0x12345, 0xdeadbeef), Seq: 0x01020304, Aux: 0x05060708},
		{Bits: matchbits.Make(matchbits.TypeUnexpected, matchbits.CreditsMax, matchbits.PeerIDMax, ^uint32(0)), Seq: ^uint32(0), Aux: ^uint32(0)},
	}
}

func TestHeader(t *testing.T) {
	var vectors []golden.Vector
	for i, name := range []string{"first", "ordinary", "largest"} {
		h := headers()[i]
		b := h.Append(nil)
		vectors = append(vectors, golden.Vector{Name: name, Comment: h.String(), Bytes: b})

		var put [HeaderLen]byte
		h.Put(&put)
		assert.Equal(t, b, put[:], "Put and Append differ")

		got, body, err := ParseHeader(append(b, 1, 2, 3))
		assert.NoError(t, err)
		assert.Equal(t, h, got)
		assert.Equal(t, []byte{1, 2, 3}, body)
		for n := range HeaderLen {
			_, _, err := ParseHeader(b[:n])
			assert.ErrorIs(t, err, ErrShort, "%d bytes", n)
		}
	}
	golden.CheckVectors(t, "testdata/header.golden", vectors)
}

// ParseHeader leaves the bits to the receiver, which knows the peer: also bits
// that no sender may use come through unchanged.
func TestHeaderWithAnyBits(t *testing.T) {
	h := Header{Bits: ^matchbits.Bits(0), Seq: 1}
	got, body, err := ParseHeader(h.Append(nil))
	assert.NoError(t, err)
	assert.Equal(t, h, got)
	assert.Empty(t, body)
	assert.Error(t, got.Bits.Check())
}

func TestHeaderString(t *testing.T) {
	assert.Equal(t, "EXPECTED credits=3 peer=74565 tag=0xdeadbeef seq=16909060 aux=0x5060708", headers()[1].String())
}

// What every message goes through allocates nothing.
func TestSmallMessagePathsDoNotAllocate(t *testing.T) {
	h := headers()[1]
	var put [HeaderLen]byte
	room := make([]byte, 0, 256)
	packet := h.Append(nil)
	rts := RTS{Pieces: make([]Piece, 0, 2)}
	rtsBody := (&RTS{Op: 1, Size: 9, Pieces: []Piece{{Addr: 1, Len: 9}}}).Append(nil)
	sink := 0
	for name, fn := range map[string]func(){
		"Put":         func() { h.Put(&put) },
		"Append":      func() { room = h.Append(room[:0]) },
		"ParseHeader": func() { got, _, _ := ParseHeader(packet); sink += int(got.Seq) },
		"eager": func() {
			sink += ParseEagerFirst(EagerFirst{Length: 9}.Aux()).Length + ParseEagerNext(EagerNext{Offset: 9}.Aux()).Offset
		},
		"credit": func() { c, _ := ParseCredit(Credit{Credits: 9}.Aux(), nil); sink += c.Credits },
		"fin":    func() { room = Fin{Op: 1}.Append(room[:0]); _, _ = ParseFin(room) },
		"data":   func() { room = append(Data{RecvOp: 1}.Append(room[:0]), 1); _, _, _ = ParseData(room) },
		"RTS":    func() { _ = rts.Parse(rtsBody); room = rts.Append(room[:0]) },
	} {
		assert.Zero(t, testing.AllocsPerRun(100, fn), name)
	}
	assert.NotZero(t, sink)
}
