package matchbits

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

// The bytes are what a packet carries if its match bits are sent most
// significant byte first.
func TestBitsAreTheGoldenOnes(t *testing.T) {
	cases := []struct {
		name    string
		comment string
		bits    Bits
	}{
		{"conn_req", "The first packet of a connection: no peer id yet.", Make(TypeConnReq, 0, 0, 0)},
		{"conn_ack", "", Make(TypeConnAck, 0, 1, 0x01020304)},
		{"expected", "An ordinary message of peer 7 with tag 42.", Make(TypeExpected, 0, 7, 42)},
		{"expected_credits", "The same, returning 5 credits.", Make(TypeExpected, 5, 7, 42)},
		{"unexpected_largest", "Every field at its limit.", Make(TypeUnexpected, CreditsMax, PeerIDMax, ^uint32(0))},
		{"rts", "", Make(TypeRTS, 1, 0x12345, 0xdeadbeef)},
		{"cts", "", Make(TypeCTS, 2, 0x12345, 0xdeadbeef)},
		{"data", "", Make(TypeData, 3, 0x12345, 0xdeadbeef)},
		{"fin", "", Make(TypeFin, 4, 0x12345, 0xdeadbeef)},
		{"credit", "", Make(TypeCredit, 15, 1, 0)},
		{"cancel", "", Make(TypeCancel, 0, 1, 0)},
		{"keep_alive", "", Make(TypeKeepAlive, 0, 1, 0)},
		{"nic_connect_req", "Reserved for providers.", Make(TypeNICConnectReq, 0, 0, 0)},
		{"nic_connect_ack", "", Make(TypeNICConnectAck, 0, 0, 0)},
	}
	var vectors []golden.Vector
	for _, c := range cases {
		assert.NoError(t, c.bits.Check(), c.name)
		comment := c.bits.String()
		if c.comment != "" {
			comment = c.comment + "\n" + comment
		}
		vectors = append(vectors, golden.Vector{
			Comment: comment,
			Name:    c.name,
			Bytes:   binary.BigEndian.AppendUint64(nil, uint64(c.bits)),
		})
	}
	golden.CheckVectors(t, "testdata/bits.golden", vectors)
}

func TestEveryFieldComesBackAndDisturbsNoOther(t *testing.T) {
	for typ := TypeNICConnectReq; typ <= typeLast; typ++ {
		for _, credits := range []uint8{0, 1, 8, CreditsMax} {
			for _, id := range []PeerID{0, 1, 0x80000, PeerIDMax} {
				for _, tag := range []uint32{0, 1, 1 << 31, ^uint32(0)} {
					b := Make(typ, credits, id, tag)
					assert.Equal(t, typ, b.Type())
					assert.Equal(t, credits, b.Credits())
					assert.Equal(t, id, b.PeerID())
					assert.Equal(t, tag, b.Tag())
					assert.Zero(t, b.Reserved())

					assert.Equal(t, Make(typ, 3, id, tag), b.WithCredits(3))
					assert.Equal(t, Make(typ, credits, id, 9), b.WithTag(9))
				}
			}
		}
	}
}

func TestMasksCoverTheirFields(t *testing.T) {
	all := Make(TypeExpected, CreditsMax, PeerIDMax, ^uint32(0)) | MaskType | MaskReserved
	assert.Equal(t, MaskAll, all)
	assert.Zero(t, (all &^ MaskType).Type())
	assert.Zero(t, (all &^ MaskCredits).Credits())
	assert.Zero(t, (all &^ MaskReserved).Reserved())
	assert.Zero(t, (all &^ MaskPeerID).PeerID())
	assert.Zero(t, (all &^ MaskTag).Tag())
}

func TestOurOwnFieldsOutOfRangePanic(t *testing.T) {
	assert.Panics(t, func() { Make(0, 0, 1, 0) })
	assert.Panics(t, func() { Make(typeLast+1, 0, 1, 0) })
	assert.Panics(t, func() { Make(TypeExpected, CreditsMax+1, 1, 0) })
	assert.Panics(t, func() { Make(TypeExpected, 0, PeerIDMax+1, 0) })
	assert.Panics(t, func() { Make(TypeExpected, 0, 1, 0).WithCredits(CreditsMax + 1) })
}

func TestCheckRefusesWhatNobodyMaySend(t *testing.T) {
	good := Make(TypeExpected, 2, 3, 4)
	assert.True(t, good.Valid())
	for _, c := range []struct {
		bits Bits
		err  error
	}{
		{0, ErrType},
		{good &^ MaskType, ErrType},
		{good | MaskType, ErrType},
		{good&^MaskType | Bits(typeLast+1)<<typeShift, ErrType},
		{good | 1<<reservedShift, ErrReserved},
		{good | MaskReserved, ErrReserved},
		{good &^ MaskPeerID, ErrPeerID},
		{Make(TypeKeepAlive, 0, 0, 0), ErrPeerID},
	} {
		assert.ErrorIs(t, c.bits.Check(), c.err, "%v", c.bits)
		assert.False(t, c.bits.Valid(), "%v", c.bits)
	}
	for typ := Type(0); typ < 1<<typeBits; typ++ {
		valid := Bits(typ)<<typeShift | 1<<peerIDShift
		assert.Equal(t, typ.Valid(), valid.Valid(), "%v", typ)
		assert.Equal(t, typ.Connects(), (valid &^ MaskPeerID).Valid(), "%v", typ)
	}
}

func TestStringsAreForPeople(t *testing.T) {
	b := Make(TypeExpected, 2, 7, 16)
	assert.Equal(t, "EXPECTED credits=2 peer=7 tag=0x10", b.String())
	assert.Equal(t, "EXPECTED credits=2 peer=7 tag=0x10 reserved=0x4", (b | 4<<reservedShift).String())
	assert.Equal(t, "Type(0) credits=0 peer=0 tag=0x0", Bits(0).String())
	assert.Equal(t, "KEEP_ALIVE", fmt.Sprint(TypeKeepAlive))
}

// Bits come from the network: examining any of them must not panic, and bits that
// Check accepts must survive being taken apart and reassembled.
func FuzzBits(f *testing.F) {
	for _, b := range []Bits{0, MaskAll, Make(TypeExpected, 2, 7, 16), Make(TypeConnReq, 0, 0, 1), MaskReserved} {
		f.Add(uint64(b))
	}
	f.Fuzz(func(t *testing.T, raw uint64) {
		b := Bits(raw)
		_ = b.String()
		if b.Check() == nil {
			assert.Equal(t, b, Make(b.Type(), b.Credits(), b.PeerID(), b.Tag()))
		}
	})
}
