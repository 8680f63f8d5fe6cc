package wire

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

// samples are headers of ours, with every field at its edges.
func samples() (names []string, headers []Header) {
	for _, s := range []struct {
		name string
		h    Header
	}{
		{"unexpected", Unexpected(1, 60)},
		{"unexpected_empty", Unexpected(0, 0)},
		{"unexpected_largest", Unexpected(math.MaxInt32, UnexpectedMax)},
		{"eager", Expected(1, 16)},
		{"eager_empty", Expected(0, 0)},
		{"eager_largest", Expected(2, EagerMax)},
		{"eager_negative_tag", Expected(0xfffffffb, 8)},
		{"rendezvous_smallest", Expected(2, EagerMax+1)},
		{"rendezvous_most_negative_tag", Expected(1<<31, 1<<20)},
		{"rendezvous_largest", Expected(math.MaxUint32, ExpectedMax)},
	} {
		names, headers = append(names, s.name), append(headers, s.h)
	}
	return names, headers
}

func TestHeaderBytes(t *testing.T) {
	names, headers := samples()
	var vectors []golden.Vector
	for i, h := range headers {
		vectors = append(vectors, golden.Vector{Name: names[i], Comment: h.String(), Bytes: h.Append(nil)})
	}
	golden.CheckVectors(t, "testdata/header.golden", vectors)
	for i, v := range golden.Load(t, "testdata/header.golden") {
		require.Len(t, v.Bytes, HeaderLen, v.Name)
		got, err := parse(v.Bytes)
		require.NoError(t, err, v.Name)
		require.Equal(t, headers[i], got, v.Name)
	}
}

// Messages as OrangeFS sent them. The last line above each describes it.
func TestCapturedMessages(t *testing.T) {
	modes := make(map[Mode]bool)
	for _, v := range golden.Load(t, "testdata/messages.golden") {
		h, err := parse(v.Bytes)
		require.NoError(t, err, v.Name)
		lines := strings.Split(v.Comment, "\n")
		assert.Equal(t, lines[len(lines)-1], h.String(), v.Name)
		modes[h.Mode] = true
		if v.Name == "tag_high_request" {
			assert.EqualValues(t, 7, h.Tag)
			h = Header{} // our tags never have this upper half
		} else {
			assert.Equal(t, v.Bytes[:HeaderLen], h.Append(nil), "%s: we say it in other bytes", v.Name)
		}
	}
	assert.Len(t, modes, 3, "not every mode is there")
}

func TestExpectedPicksTheMode(t *testing.T) {
	for size, want := range map[int]Mode{0: ModeEager, 1: ModeEager, 16384: ModeEager, 16385: ModeRendezvous, 16777216: ModeRendezvous} {
		assert.Equal(t, Header{Mode: want, Tag: 9, Size: size}, Expected(9, size))
	}
	assert.Equal(t, Header{Mode: ModeUnexpected, Tag: 9, Size: 5}, Unexpected(9, 5))
}

func TestHeaderString(t *testing.T) {
	assert.Equal(t, "UNEXPECTED tag=1 size=60", Unexpected(1, 60).String())
	assert.Equal(t, "EAGER tag=4294967291 size=0", Expected(0xfffffffb, 0).String())
	assert.Equal(t, "RENDEZVOUS tag=0 size=16385", Expected(0, 16385).String())
	assert.Equal(t, "Mode(1)", Mode(1).String())
}

func TestAppendDoesNotAllocate(t *testing.T) {
	b := make([]byte, 0, HeaderLen)
	h := Expected(5, 100)
	assert.Zero(t, testing.AllocsPerRun(100, func() { b = h.Append(b[:0]) }))
}

// raw is a header of any fields.
func raw(magic, mode uint32, tag, size int64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, magic)
	b = binary.LittleEndian.AppendUint32(b, mode)
	b = binary.LittleEndian.AppendUint64(b, uint64(tag))
	return binary.LittleEndian.AppendUint64(b, uint64(size))
}

// Every limit, and the error beyond it.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		raw  []byte
		is   error
		says string
	}{
		{"magic", raw(0x20544547, 2, 0, 0), ErrMagic, "no message of this protocol begins like this: magic number 542393671, want 51903"},
		{"magic with more bits", raw(Magic|1<<16, 2, 0, 0), ErrMagic, "magic number 117439, want 51903"},
		{"stand-alone BMI", raw(MagicStandalone, 2, 0, 0), ErrMagic, "magic number 51912, this is the stand-alone BMI library; only the one within OrangeFS speaks this protocol"},
		{"mode 0", raw(Magic, 0, 0, 0), ErrMode, "unknown message mode: 0"},
		{"mode immediate", raw(Magic, 1, 0, 0), ErrMode, "unknown message mode: 1"},
		{"two modes", raw(Magic, 6, 0, 0), ErrMode, "unknown message mode: 6"},
		{"mode 16", raw(Magic, 16, 0, 0), ErrMode, "unknown message mode: 16"},
		{"mode with a high bit", raw(Magic, 1<<31|2, 0, 0), ErrMode, "unknown message mode: 2147483650"},
		{"unexpected too long", raw(Magic, 2, 0, UnexpectedMax+1), ErrSize, "message size is out of range: 16385 bytes, the limit of UNEXPECTED is 16384"},
		{"eager too long", raw(Magic, 4, 0, ExpectedMax+1), ErrSize, "16777217 bytes, the limit of EAGER is 16777216"},
		{"rendezvous too long", raw(Magic, 8, 0, ExpectedMax+1), ErrSize, "16777217 bytes, the limit of RENDEZVOUS is 16777216"},
		{"negative", raw(Magic, 2, 0, -1), ErrSize, "-1 bytes"},
		{"most negative", raw(Magic, 8, 0, math.MinInt64), ErrSize, "-9223372036854775808 bytes"},
		{"largest", raw(Magic, 4, 0, math.MaxInt64), ErrSize, "9223372036854775807 bytes"},
		{"beyond 32 bits", raw(Magic, 4, 0, 1<<32), ErrSize, "4294967296 bytes"},
	} {
		_, err := parse(c.raw)
		assert.ErrorIs(t, err, c.is, c.name)
		assert.ErrorContains(t, err, c.says, c.name)
		var a assembler
		a.feedAll(c.raw, 1)
		assert.ErrorIs(t, a.err, c.is, "%s, byte by byte", c.name)
	}
	for _, v := range golden.Load(t, "testdata/refused.golden") {
		_, err := parse(v.Bytes)
		assert.Error(t, err, v.Name)
	}
}

// The original accepts an eager message of any size that it can receive: a sender
// that exceeds the eager limit costs the receiver no more than a rendezvous
// message would.
func TestAtTheLimitsAreTaken(t *testing.T) {
	for _, b := range [][]byte{
		raw(Magic, 2, 0, UnexpectedMax), raw(Magic, 2, 0, 0),
		raw(Magic, 4, 0, EagerMax), raw(Magic, 4, 0, EagerMax+1), raw(Magic, 4, 0, ExpectedMax),
		raw(Magic, 8, 0, ExpectedMax), raw(Magic, 8, 0, 0),
		raw(Magic, 8, math.MinInt64, 5), raw(Magic, 8, math.MaxInt64, 5),
	} {
		_, err := parse(b)
		assert.NoError(t, err, "%x", b)
	}
}
