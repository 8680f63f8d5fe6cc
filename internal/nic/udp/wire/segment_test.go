package wire

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

// A segmentSample is one segment with its data.
type segmentSample struct {
	name, comment, text string
	m                   Segment
	data                []byte
}

func segmentSamples() []segmentSample {
	return []segmentSample{
		{name: "send_empty", comment: "A message of 0 bytes is one segment.", m: Segment{Kind: SegmentSend, Number: 1, Recv: 1},
			text: "SEND number=1 total=0 offset=0 recv=1"},
		{name: "send_whole", m: Segment{Kind: SegmentSend, Number: 0x01020304, Total: 5, Recv: 0x05060708}, data: []byte("hello"),
			text: "SEND number=16909060 total=5 offset=0 recv=84281096"},
		{name: "send_last", comment: "The last segment of a long message, with immediate data.",
			m:    Segment{Kind: SegmentSend, HasImmediate: true, Number: 7, Immediate: 0xfeedbeef, Total: 8192, Offset: 8189, Recv: 6},
			data: []byte("end"), text: "SEND number=7 total=8192 offset=8189 immediate=0xfeedbeef recv=6"},
		{name: "write", m: Segment{Kind: SegmentWrite, Number: 9, Total: 1 << 30, Offset: 4096, Addr: 0x7f00_1122_3344_5566, Handle: 0x0102_0304_0506_0708},
			data: []byte{0xaa, 0xbb}, text: "WRITE number=9 total=1073741824 offset=4096 addr=0x7f00112233445566 handle=0x102030405060708"},
		{name: "write_immediate", comment: "A write that takes a receive.",
			m:    Segment{Kind: SegmentWrite, HasImmediate: true, Number: 10, Immediate: 77, Total: 1, Recv: 8, Addr: 16, Handle: 2},
			data: []byte{1}, text: "WRITE number=10 total=1 offset=0 immediate=0x4d recv=8 addr=0x10 handle=0x2"},
		{name: "read_request", m: Segment{Kind: SegmentReadRequest, Number: 11, Total: 1 << 20, Addr: 4096, Handle: 3},
			text: "READ_REQUEST number=11 total=1048576 offset=0 addr=0x1000 handle=0x3"},
		{name: "read_data", m: Segment{Kind: SegmentReadData, Number: 11, Total: 1 << 20, Offset: 1<<20 - 4}, data: []byte("data"),
			text: "READ_DATA number=11 total=1048576 offset=1048572"},
		{name: "read_refused", m: Segment{Kind: SegmentReadRefused, Number: 12}, text: "READ_REFUSED number=12"},
		{name: "bye", comment: "Messages before number 13 still count.", m: Segment{Kind: SegmentBye, Number: 13}, text: "BYE number=13"},
		{name: "bye_broken", comment: "Message 14 of the other direction found no receive.",
			m: Segment{Kind: SegmentBye, HasImmediate: true, Number: 14, Immediate: uint32(ReasonNoReceive)}, text: "BYE number=14 reason=no-receive"},
	}
}

func (s *segmentSample) bytes() []byte { return append(s.m.Append(nil), s.data...) }

func TestSegment(t *testing.T) {
	var vectors []golden.Vector
	for _, s := range segmentSamples() {
		b := s.bytes()
		vectors = append(vectors, golden.Vector{Comment: s.comment, Name: s.name, Bytes: b})
		assert.Len(t, b, s.m.HeaderLen()+len(s.data))
		var got Segment
		data, rest, err := ParseSegment(b, &got)
		require.NoError(t, err, s.name)
		assert.Nil(t, rest, s.name)
		assert.Equal(t, s.m, got, s.name)
		assert.Equal(t, string(s.data), string(data), s.name)
		assert.Equal(t, s.text, got.String())
	}
	golden.CheckVectors(t, "testdata/segment.golden", vectors)
}

// TestSegmentPrefixes: a header that ends early is refused; data that ends early
// makes another, shorter segment, unless nothing is left of it.
func TestSegmentPrefixes(t *testing.T) {
	for _, s := range segmentSamples() {
		b := s.bytes()
		for n := range b {
			var got Segment
			data, _, err := ParseSegment(b[:n], &got)
			if n <= s.m.HeaderLen() && (n < s.m.HeaderLen() || len(s.data) > 0) {
				require.ErrorIs(t, err, ErrShort, "%s, %d bytes", s.name, n)
				continue
			}
			require.NoError(t, err, "%s, %d bytes", s.name, n)
			assert.Equal(t, string(s.data[:n-s.m.HeaderLen()]), string(data))
		}
	}
}

func TestSegmentRefusesTheImpossible(t *testing.T) {
	set := func(off int, v byte) func(b []byte) []byte {
		return func(b []byte) []byte { b[off] = v; return b }
	}
	more := func(b []byte) []byte { return append(b, 1) }
	cases := []struct {
		name, sample string
		change       func(b []byte) []byte
		err          error
	}{
		{"no kind", "send_whole", set(0, 0), ErrInvalid},
		{"unknown kind", "send_whole", set(0, byte(segmentEnd)), ErrInvalid},
		{"unknown flag", "send_whole", set(1, 4), ErrInvalid},
		{"a length and no segment behind it", "send_whole", set(2, 5), ErrInvalid},
		{"a large length and no segment behind it", "send_whole", set(3, 1), ErrInvalid},
		{"immediate data without the flag", "send_last", set(1, 0), ErrInvalid},
		{"data behind the end", "send_whole", more, ErrLong},
		{"offset behind the end", "send_whole", set(19, 0xff), ErrLong},
		{"offset that overflows", "send_whole", func(b []byte) []byte {
			return append(append(b[:16], 0xff, 0xff, 0xff, 0xff), b[20:]...)
		}, ErrLong},
		{"an empty message with an offset", "send_empty", set(16, 1), ErrLong},
		{"a write that takes a receive silently", "write", set(20, 1), ErrInvalid},
		{"read data that takes a receive", "read_data", set(20, 1), ErrInvalid},
		{"read data with immediate data", "read_data", set(1, 1), ErrInvalid},
		{"a read request with data", "read_request", more, ErrLong},
		{"a read request with an offset", "read_request", set(16, 1), ErrInvalid},
		{"a read request that takes a receive", "read_request", set(20, 1), ErrInvalid},
		{"a read request with immediate data", "read_request", set(1, 1), ErrInvalid},
		{"a refusal with data", "read_refused", more, ErrLong},
		{"a refusal with a length", "read_refused", set(12, 1), ErrInvalid},
		{"a refusal with immediate data", "read_refused", set(1, 1), ErrInvalid},
		{"a farewell with data", "bye", more, ErrLong},
		{"a farewell with a length", "bye", set(12, 1), ErrInvalid},
		{"a farewell with an offset", "bye", set(16, 1), ErrInvalid},
		{"a farewell that takes a receive", "bye", set(20, 1), ErrInvalid},
		{"a farewell with a silent reason", "bye_broken", set(1, 0), ErrInvalid},
	}
	for _, c := range cases {
		var b []byte
		for _, s := range segmentSamples() {
			if s.name == c.sample {
				b = s.bytes()
			}
		}
		require.NotEmpty(t, b, c.sample)
		var got Segment
		_, _, err := ParseSegment(c.change(b), &got)
		require.ErrorIs(t, err, c.err, c.name)
	}
}

// joined returns the samples of these names as the segments of one packet.
func joined(t testing.TB, names ...string) []byte {
	var b []byte
	last, data := 0, 0
	for i, name := range names {
		if i > 0 {
			JoinSegment(b[last:], data)
		}
		for _, s := range segmentSamples() {
			if s.name == name {
				last, data = len(b), len(s.data)
				b = append(b, s.bytes()...)
			}
		}
	}
	require.NotEmpty(t, b)
	return b
}

// packetSegments are the names of the samples that share a packet.
var packetSegments = map[string][]string{
	"two_sends":     {"send_whole", "send_empty"},
	"every_kind":    {"send_last", "write", "read_request", "read_data", "read_refused", "write_immediate", "bye"},
	"without_bytes": {"send_empty", "read_request", "bye_broken"},
}

func TestSegmentsOfOnePacket(t *testing.T) {
	samples := make(map[string]segmentSample)
	for _, s := range segmentSamples() {
		samples[s.name] = s
	}
	var vectors []golden.Vector
	for _, packet := range slices.Sorted(maps.Keys(packetSegments)) {
		names := packetSegments[packet]
		b := joined(t, names...)
		vectors = append(vectors, golden.Vector{Comment: strings.Join(names, ", "), Name: packet, Bytes: b})
		rest := b
		for i, name := range names {
			var got Segment
			var data []byte
			var err error
			data, rest, err = ParseSegment(rest, &got)
			require.NoError(t, err, "%s: %s", packet, name)
			assert.Equal(t, samples[name].m, got)
			assert.Equal(t, string(samples[name].data), string(data))
			assert.Equal(t, i == len(names)-1, rest == nil)
			if rest != nil {
				assert.Equal(t, len(data), cap(data), "what is appended to it leaves the next one alone")
			}
		}
	}
	golden.CheckVectors(t, "testdata/segments.golden", vectors)
}

// TestSegmentWhoseSuccessorIsMissing: a segment that announces another one behind n bytes
// of data is refused if those bytes are not there, or are not what the header says, or
// nothing follows them.
func TestSegmentWhoseSuccessorIsMissing(t *testing.T) {
	b := joined(t, "send_whole", "send_empty")
	first := SegmentLen + len("hello")
	for n := range first + 1 {
		var got Segment
		_, _, err := ParseSegment(b[:n], &got)
		require.ErrorIs(t, err, ErrShort, "%d bytes", n)
	}
	for n, want := range map[int]error{0: ErrShort, 4: nil, 6: ErrLong, len(b) - SegmentLen - 1: ErrLong, len(b) - SegmentLen: ErrShort, SegmentJoinedMax: ErrShort} {
		JoinSegment(b, n)
		var got Segment
		data, rest, err := ParseSegment(b, &got)
		if want != nil {
			require.ErrorIs(t, err, want, "%d bytes", n)
			continue
		}
		require.NoError(t, err, "a part of the message")
		assert.Len(t, data, n)
		assert.Len(t, rest, len(b)-SegmentLen-n)
	}
}

func TestSegmentNames(t *testing.T) {
	assert.Equal(t, "SegmentKind(9)", SegmentKind(9).String())
	assert.Equal(t, "Reason(0)", Reason(0).String())
	names := map[string]bool{}
	for r := ReasonProtocol; r <= ReasonRDMA; r++ {
		names[r.String()] = true
	}
	assert.Len(t, names, 5)
	assert.NotContains(t, names, "Reason(5)")
}

func TestSegmentDoesNotAllocate(t *testing.T) {
	room := make([]byte, 0, 128)
	s := segmentSamples()[3]
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		b := append(s.m.Append(room), s.data...)
		var got Segment
		if _, _, err := ParseSegment(b, &got); err != nil {
			panic(err)
		}
	}))
}

// FuzzSegment: no bytes make the parser panic, and the segments that it accepts are
// consistent and are encoded to the same bytes again.
func FuzzSegment(f *testing.F) {
	for _, s := range segmentSamples() {
		f.Add(s.bytes())
	}
	for _, names := range packetSegments {
		f.Add(joined(f, names...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for b != nil {
			var m Segment
			data, rest, err := ParseSegment(b, &m)
			if err != nil {
				return
			}
			_ = m.String()
			again := m.Append(nil)
			if rest != nil {
				JoinSegment(again, len(data))
			}
			if again = append(append(again, data...), rest...); string(again) != string(b) {
				t.Fatalf("%x was taken and encoded as %x", b, again)
			}
			if m.Kind != SegmentReadRequest && uint64(m.Offset)+uint64(len(data)) > uint64(m.Total) {
				t.Fatalf("%v has %d bytes of data", m, len(data))
			}
			b = rest
		}
	})
}
