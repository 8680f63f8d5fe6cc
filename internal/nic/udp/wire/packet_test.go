package wire

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

func packetSamples() []Packet {
	return []Packet{
		{Lane: LanePriority, To: 1},
		{Lane: LaneData, To: 0x11223344, Number: 0x5566778899aabbcc},
		{Lane: LaneData, To: ^uint32(0), Number: ^uint64(0)},
	}
}

func TestPacketGolden(t *testing.T) {
	var vectors []golden.Vector
	for i, name := range []string{"first", "usual", "largest"} {
		p := packetSamples()[i]
		vectors = append(vectors, golden.Vector{Name: name, Comment: p.String(), Bytes: p.Append(nil)})
	}
	summed := packetSamples()[1].Append(nil)
	summed = append(summed, "payload"...)
	summed = AppendSum(summed, Sum(Sum(0, summed[:PacketLen]), summed[PacketLen:]))
	vectors = append(vectors, golden.Vector{Name: "summed", Comment: "With a payload and the checksum.", Bytes: summed})
	const path = "testdata/packet.golden"
	golden.CheckVectors(t, path, vectors)
	for i, v := range golden.Load(t, path)[:3] {
		p, rest, err := ParsePacket(v.Bytes)
		require.NoError(t, err, v.Name)
		assert.Empty(t, rest)
		assert.Equal(t, packetSamples()[i], p)
		for n := range v.Bytes {
			_, _, err := ParsePacket(v.Bytes[:n])
			assert.ErrorIs(t, err, ErrShort, "%s, %d bytes", v.Name, n)
		}
	}
}

func TestPacketRefusesTheImpossible(t *testing.T) {
	good := packetSamples()[1].Append(nil)
	for what, c := range map[string]struct {
		at  int
		b   byte
		err error
	}{
		"another kind":       {0, byte(KindInit), ErrKind},
		"a third lane":       {1, Lanes, ErrInvalid},
		"reserved low byte":  {2, 1, ErrInvalid},
		"reserved high byte": {3, 1, ErrInvalid},
	} {
		b := bytes.Clone(good)
		b[c.at] = c.b
		_, _, err := ParsePacket(b)
		assert.ErrorIs(t, err, c.err, what)
	}
	_, _, err := ParsePacket(Packet{}.Append(nil))
	assert.ErrorIs(t, err, ErrInvalid, "connection 0")
}

func TestPacketString(t *testing.T) {
	assert.Equal(t, "PACKET lane=1 to=0x11223344 number=6153737369425722316", packetSamples()[1].String())
}

// The checksum of nine digits is the one in every description of CRC-32C; it
// detects each damaged bit of a packet.
func TestSum(t *testing.T) {
	assert.EqualValues(t, 0xe3069283, Sum(Sum(0, []byte("1234")), []byte("56789")))
	packet := []byte("a packet")
	packet = AppendSum(packet, Sum(0, packet))
	body, err := CheckSum(packet)
	require.NoError(t, err)
	assert.Equal(t, "a packet", string(body))
	for i := range len(packet) * 8 {
		packet[i/8] ^= 1 << (i % 8)
		_, err := CheckSum(packet)
		assert.ErrorIs(t, err, ErrDamaged, "bit %d", i)
		packet[i/8] ^= 1 << (i % 8)
	}
	for n := range SumLen {
		_, err := CheckSum(packet[:n])
		assert.ErrorIs(t, err, ErrShort)
	}
}

// FuzzPacket: no header makes the parser panic, and what it accepts is encoded to
// the same bytes again.
func FuzzPacket(f *testing.F) {
	for _, p := range packetSamples() {
		f.Add(p.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = CheckSum(b)
		p, rest, err := ParsePacket(b)
		if err != nil {
			return
		}
		_ = p.String()
		if again := append(p.Append(nil), rest...); !bytes.Equal(b, again) {
			t.Fatalf("%v\n  was %x\n  is  %x", p, b, again)
		}
	})
}
