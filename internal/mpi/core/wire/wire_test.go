package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

// A packet is any of the structs of the package.
type packet interface {
	fmt.Stringer
	Append(dst []byte) []byte
}

// parse parses a packet of any kind, and returns the bytes behind an EAGER, a CALL or a RETURN.
func parse(k Kind, b []byte) (p packet, rest []byte, err error) {
	switch k {
	case KindHello:
		p, err = as(ParseHello(b))
	case KindEager:
		var e Eager
		e, rest, err = ParseEager(b)
		p = e
	case KindRTS:
		p, err = as(ParseRTS(b))
	case KindCTS:
		p, err = as(ParseCTS(b))
	case KindAck:
		p, err = as(ParseAck(b))
	case KindCredit:
		p, err = as(ParseCredit(b))
	case KindCancel:
		p, err = as(ParseCancel(b))
	case KindCancelled:
		p, err = as(ParseCancelled(b))
	case KindRevoke:
		p, err = as(ParseRevoke(b))
	case KindBye:
		p, err = as(ParseBye(b))
	case KindCall:
		var c Call
		c, rest, err = ParseCall(b)
		p = c
	case KindReturn:
		var r Return
		r, rest, err = ParseReturn(b)
		p = r
	}
	return p, rest, err
}

func as[P packet](p P, err error) (packet, error) { return p, err }

// A sample is a packet, with every field at some limit, and its exact bytes.
type sample struct {
	name string
	kind Kind
	p    packet
	rest string // behind an EAGER, a CALL or a RETURN
	hex  string // of the packet, blanks aside
}

func samples() []sample {
	id, to := [16]byte{0: 1, 15: 2}, [16]byte{0: 0xff, 15: 3}
	const bits = 0xabcd_54321_7654321
	return []sample{
		{"hello", KindHello, Hello{Version: 3, Window: 1 << 20, ID: id, To: to, Card: "x"}, "",
			"0300 0000 00001000 01000000000000000000000000000002 ff000000000000000000000000000003 78"},
		{"hello_without_card", KindHello, Hello{Version: 3}, "", "0300 0000 00000000" + strings.Repeat("00", 32)},
		{"eager", KindEager, Eager{Credit: 0xfffffffe, ID: 7, Bits: bits}, "hi", "feffffff 07000000 214365173254cdab 6869"},
		{"eager_empty", KindEager, Eager{}, "", "00000000 00000000 0000000000000000"},
		{"rts", KindRTS, RTS{Credit: 1, ID: math.MaxUint32, Bits: bits, Size: math.MaxInt64, Piece: 1 << 24}, "",
			"01000000 ffffffff 214365173254cdab ffffffffffffff7f 00000001 00000000"},
		{"rts_smallest", KindRTS, RTS{ID: 1}, "", "00000000 01000000" + strings.Repeat("00", 24)},
		{"cts", KindCTS, CTS{Credit: 2, ID: 3, Granted: math.MaxInt64, Piece: 4, Tag: math.MaxUint32}, "",
			"02000000 03000000 ffffffffffffff7f 04000000 ffffffff"},
		{"cts_of_nothing", KindCTS, CTS{ID: 3}, "", "00000000 03000000 0000000000000000 00000000 00000000"},
		{"ack", KindAck, Ack{Credit: 0x01020304, ID: 0x05060708}, "", "04030201 08070605"},
		{"credit", KindCredit, Credit{Credit: math.MaxUint32}, "", "ffffffff"},
		{"cancel", KindCancel, Cancel{Credit: 9, ID: 10}, "", "09000000 0a000000"},
		{"cancelled", KindCancelled, Cancelled{Credit: 9, ID: 10, Done: true}, "", "09000000 0a000000 01 000000"},
		{"not_cancelled", KindCancelled, Cancelled{Credit: 9, ID: 10}, "", "09000000 0a000000 00 000000"},
		{"revoke", KindRevoke, Revoke{Credit: 11, Context: 0xfedc}, "", "0b000000 dcfe 0000"},
		{"revoke-failure", KindRevoke, Revoke{Credit: 11, Context: 0xfedc, Failure: true}, "", "0b000000 dcfe 0100"},
		{"bye", KindBye, Bye{Credit: 12}, "", "0c000000"},
		{"call", KindCall, Call{Credit: 13, ID: math.MaxUint32, Context: 0xfedc, Waits: true, Rank: 1<<20 - 1}, "hi",
			"0d000000 ffffffff dcfe 01 00 ffff0f00 6869"},
		{"call_empty", KindCall, Call{ID: 1}, "", "00000000 01000000 0000 00 00 00000000"},
		{"return", KindReturn, Return{Credit: 14, ID: 15}, "hi", "0e000000 0f000000 6869"},
	}
}

func (s sample) bytes() []byte { return append(s.p.Append(nil), s.rest...) }

func TestBytes(t *testing.T) {
	var vectors []golden.Vector
	kinds := make(map[Kind]bool)
	for _, s := range samples() {
		b := s.bytes()
		assert.Equal(t, strings.ReplaceAll(s.hex, " ", ""), fmt.Sprintf("%x", b), s.name)
		vectors = append(vectors, golden.Vector{Name: s.name, Comment: s.p.String(), Bytes: b})
		kinds[s.kind] = true
		got, rest, err := parse(s.kind, b)
		require.NoError(t, err, s.name)
		assert.Equal(t, s.p, got, s.name)
		assert.Equal(t, s.rest, string(rest), s.name)
		assert.True(t, bytes.HasPrefix(s.p.Append([]byte("before")), []byte("before")), s.name)
		assert.True(t, strings.HasPrefix(s.p.String(), s.kind.String()+" "), s.name)
	}
	assert.Len(t, kinds, int(KindReturn), "a kind has no sample")
	golden.CheckVectors(t, "testdata/packets.golden", vectors)
}

// A packet that is too short or too long is refused.
func TestLengths(t *testing.T) {
	least := map[Kind]int{KindHello: HelloBytes, KindEager: EagerBytes, KindCall: CallBytes, KindReturn: ReturnBytes}
	for _, s := range samples() {
		b := s.bytes()
		n, open := least[s.kind]
		if !open {
			n = len(b)
			_, _, err := parse(s.kind, append(bytes.Clone(b), 0))
			assert.ErrorIs(t, err, ErrLength, "%s and a byte more", s.name)
		}
		for short := range n {
			_, _, err := parse(s.kind, b[:short:short])
			assert.ErrorIs(t, err, ErrLength, "%d bytes of %s", short, s.name)
		}
	}
	h := Hello{Version: Version, Card: strings.Repeat("c", CardMax)}
	got, err := ParseHello(h.Append(nil))
	require.NoError(t, err)
	assert.Equal(t, h, got)
	h.Card += "c"
	_, err = ParseHello(h.Append(nil))
	assert.ErrorIs(t, err, ErrLength)
}

// A packet that no engine sends is refused, with its name in the error.
func TestRefused(t *testing.T) {
	change := func(p packet, at int, to ...byte) []byte {
		b := p.Append(nil)
		copy(b[at:], to)
		return b
	}
	rts, cts, done := RTS{ID: 1}, CTS{ID: 1}, Cancelled{ID: 1}
	for _, c := range []struct {
		kind Kind
		b    []byte
		is   error
		says string
	}{
		{KindHello, Hello{Version: 2}.Append(nil), ErrVersion, "the peer speaks 2, this is 3"},
		{KindHello, Hello{Version: 256}.Append(nil), ErrVersion, "speaks 256"},
		{KindHello, Hello{Version: 3, Flags: 1}.Append(nil), ErrReserved, "HELLO"},
		{KindHello, Hello{Version: 3, Flags: 1 << 15}.Append(nil), ErrReserved, "HELLO"},
		{KindRTS, RTS{}.Append(nil), ErrValue, "RTS of id 0"},
		{KindRTS, RTS{ID: 1, Size: math.MaxInt64 + 1}.Append(nil), ErrValue, "RTS of 9223372036854775808 bytes"},
		{KindRTS, change(rts, 28, 1), ErrReserved, "RTS"},
		{KindRTS, change(rts, 31, 0x80), ErrReserved, "RTS"},
		{KindCTS, CTS{}.Append(nil), ErrValue, "CTS of id 0"},
		{KindCTS, change(cts, 15, 0x80), ErrValue, "CTS grants 9223372036854775808 bytes"},
		{KindAck, Ack{}.Append(nil), ErrValue, "ACK of id 0"},
		{KindCancel, Cancel{}.Append(nil), ErrValue, "CANCEL of id 0"},
		{KindCancelled, Cancelled{Done: true}.Append(nil), ErrValue, "CANCELLED of id 0"},
		{KindCancelled, change(done, 8, 2), ErrValue, "CANCELLED says 2"},
		{KindCancelled, change(done, 9, 1), ErrReserved, "CANCELLED"},
		{KindCancelled, change(done, 10, 1), ErrReserved, "CANCELLED"},
		{KindCancelled, change(done, 11, 1), ErrReserved, "CANCELLED"},
		{KindRevoke, change(Revoke{}, 6, 2), ErrValue, "REVOKE"},
		{KindRevoke, change(Revoke{}, 7, 1), ErrReserved, "REVOKE"},
		{KindCall, Call{}.Append(nil), ErrValue, "CALL of id 0"},
		{KindCall, change(Call{ID: 1}, 10, 2), ErrValue, "CALL says 2"},
		{KindCall, change(Call{ID: 1}, 11, 1), ErrReserved, "CALL"},
		{KindReturn, Return{}.Append(nil), ErrValue, "RETURN of id 0"},
	} {
		_, _, err := parse(c.kind, c.b)
		assert.ErrorIs(t, err, c.is, "%x", c.b)
		assert.ErrorContains(t, err, c.says, "%x", c.b)
	}
	h, err := ParseHello(Hello{Version: 9}.Append(nil))
	require.ErrorIs(t, err, ErrVersion)
	assert.EqualValues(t, 9, h.Version, "who refuses can tell which version the peer speaks")
}

func TestKinds(t *testing.T) {
	for k := range Kind(20) {
		assert.Equal(t, k >= 1 && k <= 12, k.Valid(), k)
	}
	assert.False(t, Kind(math.MaxUint32).Valid())
	assert.Equal(t, "Kind(13)", Kind(13).String())
	assert.Equal(t, "CANCELLED", KindCancelled.String())
}

// slowBits is the layout as docs/internals/protocols/mpi.md describes it.
func slowBits(context uint16, source, tag uint32) uint64 {
	b := fmt.Sprintf("%016b%020b%028b", context, source, tag)
	var bits uint64
	for _, digit := range b {
		bits = bits*2 + uint64(digit-'0')
	}
	return bits
}

func TestMatchBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	edges := []uint32{0, 1, SourceMax, TagMax}
	draw := func(most uint32) uint32 {
		if rng.IntN(2) == 0 {
			return min(edges[rng.IntN(len(edges))], most)
		}
		return rng.Uint32N(most + 1)
	}
	for range 1000 {
		context, source, tag := uint16(draw(math.MaxUint16)), draw(SourceMax), draw(TagMax)
		bits := MakeBits(context, source, tag)
		require.Equal(t, slowBits(context, source, tag), bits)
		require.Equal(t, context, ContextOf(bits))
		require.Equal(t, source, SourceOf(bits))
		require.Equal(t, tag, TagOf(bits))
		require.Equal(t, MakeBits(context, 0, tag), bits&^MaskSource)
		require.Equal(t, MakeBits(context, source, 0), bits&^MaskTag)
	}
	assert.Equal(t, uint64(0xffff)<<48, MakeBits(0xffff, 1<<SourceBits, 1<<TagBits), "no field spills into another")
	assert.Equal(t, uint64(math.MaxUint64>>16), MaskSource|MaskTag)
}

func TestNoAllocation(t *testing.T) {
	for _, s := range samples() {
		if s.kind == KindHello {
			continue // a card is a text of its own
		}
		b := s.bytes()
		dst := make([]byte, 0, len(b))
		assert.Zero(t, testing.AllocsPerRun(100, func() { dst = s.p.Append(dst[:0]) }), s.name)
	}
	var buf [RTSBytes]byte
	eager, rts := Eager{ID: 1}.Append(nil), RTS{ID: 1}.Append(nil)
	cts, ack, credit := CTS{ID: 1}.Append(nil), Ack{ID: 1}.Append(nil), Credit{}.Append(nil)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		p, message, err := ParseEager(eager)
		if err == nil && len(message) == 0 {
			_ = p.Append(buf[:0])
		}
		r, _ := ParseRTS(rts)
		c, _ := ParseCTS(cts)
		a, _ := ParseAck(ack)
		o, _ := ParseCredit(credit)
		binary.LittleEndian.PutUint32(buf[:], r.ID+c.ID+a.ID+o.Credit)
	}))
}

// FuzzParse: no bytes make Parse panic, and an accepted packet is appended as the same bytes.
func FuzzParse(f *testing.F) {
	for _, s := range samples() {
		f.Add(uint32(s.kind), s.bytes())
	}
	f.Fuzz(func(t *testing.T, kind uint32, b []byte) {
		k := Kind(kind)
		p, rest, err := parse(k, b)
		if p == nil {
			require.False(t, k.Valid())
			return
		}
		if _ = p.String(); err == nil {
			require.Equal(t, b, append(p.Append([]byte{}), rest...))
		}
	})
}
