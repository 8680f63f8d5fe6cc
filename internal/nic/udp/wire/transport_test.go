package wire

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

func transportSamples() (names []string, samples []Transport) {
	add := func(name string, t Transport, ranges ...Range) {
		t.N = uint8(copy(t.Ranges[:], ranges))
		names, samples = append(names, name), append(samples, t)
	}
	add("ack", Transport{Flags: FlagAck | FlagEcho, Ack: 7, Stamp: 1000, Echo: 900})
	add("segment", Transport{Flags: FlagSegment | FlagAck, Seq: 0x01020304, Ack: 0x05060708, Stamp: 0x090a0b0c})
	add("gaps", Transport{Flags: FlagAck | FlagEcho, Ack: 10, Stamp: 1, Echo: 2}, Range{11, 12}, Range{20, 4106})
	add("wrapped", Transport{Flags: FlagSegment | FlagAck | FlagAnswer, Seq: ^uint32(0), Ack: ^uint32(0) - 1, Stamp: 3},
		Range{^uint32(0), 0}, Range{5, 9})
	var most []Range
	for i := range uint32(RangesMax) {
		most = append(most, Range{1 + 2*i, 2 + 2*i})
	}
	add("most", Transport{Flags: FlagAck | FlagEcho, Stamp: ^uint32(0), Echo: ^uint32(0)}, most...)
	add("question", Transport{Flags: FlagAnswer, Stamp: 5})
	return names, samples
}

// transportBytes encodes a sample, with a segment if the header says that one
// follows.
func transportBytes(t *Transport) []byte {
	b := t.Append(nil)
	if t.Flags&FlagSegment != 0 {
		b = append(b, "segment"...)
	}
	return b
}

func TestTransportGolden(t *testing.T) {
	names, samples := transportSamples()
	var vectors []golden.Vector
	for i := range samples {
		vectors = append(vectors, golden.Vector{Name: names[i], Comment: samples[i].String(), Bytes: transportBytes(&samples[i])})
	}
	const path = "testdata/transport.golden"
	golden.CheckVectors(t, path, vectors)
	for i, v := range golden.Load(t, path) {
		var got Transport
		segment, err := got.Parse(v.Bytes)
		require.NoError(t, err, v.Name)
		assert.Equal(t, samples[i], got, v.Name)
		assert.Equal(t, got.Len()+len(segment), len(v.Bytes), v.Name)
		least := got.Len()
		if segment != nil {
			assert.Equal(t, "segment", string(segment))
			least++
		} else {
			_, err := got.Parse(append(v.Bytes, 0))
			assert.ErrorIs(t, err, ErrLong, v.Name)
		}
		for n := range least {
			_, err := got.Parse(v.Bytes[:n])
			assert.ErrorIs(t, err, ErrShort, "%s, %d bytes", v.Name, n)
		}
	}
}

func TestTransportRefusesTheImpossible(t *testing.T) {
	_, samples := transportSamples()
	gaps := samples[2] // ack 10, ranges [11,12) [20,4106)
	put := func(off int, v uint32) func([]byte) {
		return func(b []byte) { binary.LittleEndian.PutUint32(b[off:], v) }
	}
	set := func(off int, v byte) func([]byte) { return func(b []byte) { b[off] = v } }
	for what, change := range map[string]func([]byte){
		"unknown flag":             set(0, byte(flagsEnd|FlagAck|FlagEcho)),
		"too many ranges":          set(1, RangesMax+1),
		"reserved byte 2":          set(2, 1),
		"reserved byte 3":          set(3, 1),
		"seq without a segment":    put(4, 1),
		"ack without its flag":     set(0, 0),
		"echo without its flag":    set(0, byte(FlagAck)),
		"reserved word":            put(20, 1),
		"range that begins at Ack": put(24, 10),
		"range before Ack":         put(24, 9),
		"empty range":              put(28, 11),
		"range that ends early":    put(28, 10),
		"adjacent ranges":          put(28, 20),
		"overlapping ranges":       put(28, 21),
		"range beyond the window":  put(36, 4107),
		"descending ranges":        put(32, 5),
	} {
		b := gaps.Append(nil)
		change(b)
		var got Transport
		_, err := got.Parse(b)
		assert.ErrorIs(t, err, ErrInvalid, what)
		assert.Zero(t, got.N, "%s: ranges that nobody checked", what)
	}
	b := (&Transport{Flags: FlagEcho, Echo: 5}).Append(nil)
	_, err := new(Transport).Parse(b)
	assert.ErrorIs(t, err, ErrInvalid, "echo without an ack")
}

func TestTransportIsReadIntoAUsedOne(t *testing.T) {
	_, samples := transportSamples()
	var got Transport
	for _, i := range []int{4, 5, 2, 0} {
		_, err := got.Parse(transportBytes(&samples[i]))
		require.NoError(t, err)
		assert.Equal(t, samples[i].String(), got.String())
	}
	got.Clear()
	assert.Equal(t, "stamp=0µs", got.String())
	assert.Equal(t, TransportLen, got.Len())
}

func TestTransportString(t *testing.T) {
	_, samples := transportSamples()
	assert.Equal(t, "ack=10 [11,12) [20,4106) stamp=1µs echo=2µs", samples[2].String())
	assert.Equal(t, "seq=4294967295 ack=4294967294 [4294967295,0) [5,9) stamp=3µs answer", samples[3].String())
}

func TestTransportDoesNotAllocate(t *testing.T) {
	_, samples := transportSamples()
	b := make([]byte, 0, 512)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		b = samples[4].Append(b[:0])
		var got Transport
		if _, err := got.Parse(b); err != nil {
			panic(err)
		}
	}))
}

// FuzzTransport: no bytes make the parser panic, and what it accepts is encoded
// to the same bytes again.
func FuzzTransport(f *testing.F) {
	_, samples := transportSamples()
	for i := range samples {
		f.Add(transportBytes(&samples[i]))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var got Transport
		segment, err := got.Parse(b)
		if err != nil {
			return
		}
		_ = got.String()
		if again := append(got.Append(nil), segment...); !bytes.Equal(b, again) {
			t.Fatalf("%v\n  was %x\n  is  %x", &got, b, again)
		}
	})
}
