package wire

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
)

// A shaking is one packet, or payload, of a handshake, with the values in it.
type shaking struct {
	name, comment string
	value         fmt.Stringer
	bytes         []byte
}

// reparse parses one kind of packet of the handshake, and encodes it again.
type reparse func(b []byte) (value fmt.Stringer, again []byte, err error)

// checkShaking makes the checks for every kind: the exact bytes, that the bytes
// in the file parse to the values, and that packets cut short or with bytes
// appended are refused.
func checkShaking(t *testing.T, file string, samples []shaking, read reparse) {
	t.Helper()
	var vectors []golden.Vector
	for _, s := range samples {
		comment := s.value.String()
		if s.comment != "" {
			comment = s.comment + "\n" + comment
		}
		vectors = append(vectors, golden.Vector{Name: s.name, Comment: comment, Bytes: s.bytes})
	}
	path := "testdata/" + file + ".golden"
	golden.CheckVectors(t, path, vectors)
	inFile := golden.Load(t, path)
	require.Len(t, inFile, len(samples))
	for i, s := range samples {
		b := inFile[i].Bytes
		value, again, err := read(b)
		if assert.NoError(t, err, s.name) {
			assert.Equal(t, s.value, value, s.name)
			assert.Equal(t, b, again, "%s does not survive a round trip", s.name)
		}
		for n := range b {
			_, _, err := read(b[:n:n])
			assert.ErrorIs(t, err, ErrShort, "%s, %d of %d bytes", s.name, n, len(b))
		}
		_, _, err = read(append(bytes.Clone(b), 0))
		assert.ErrorIs(t, err, ErrLong, s.name)
	}
}

// refusesByte checks that a packet with one byte changed is refused.
func refusesByte(t *testing.T, read reparse, s shaking, what string, off int, v byte) {
	t.Helper()
	b := bytes.Clone(s.bytes)
	require.NotEqual(t, v, b[off], "%s: %s changes nothing", s.name, what)
	b[off] = v
	_, _, err := read(b)
	assert.ErrorIs(t, err, ErrInvalid, "%s: %s", s.name, what)
}

// refusesOtherKinds checks that byte 0 matters.
func refusesOtherKinds(t *testing.T, read reparse, s shaking) {
	t.Helper()
	b := bytes.Clone(s.bytes)
	for kind := range 256 {
		if b[0] = byte(kind); b[0] == s.bytes[0] {
			continue
		}
		_, _, err := read(b)
		assert.ErrorIs(t, err, ErrKind, "%d", kind)
	}
}

// count fills n bytes with a pattern.
func count(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + 1)
	}
	return b
}

// everyShaking returns the samples of all kinds, each with its reparse.
func everyShaking() map[string]struct {
	samples []shaking
	read    reparse
} {
	type kind = struct {
		samples []shaking
		read    reparse
	}
	return map[string]kind{
		"init":             {initSamples(), readInit},
		"init_payload":     {initPayloadSamples(), readInitPayload},
		"retry":            {retrySamples(), readRetry},
		"response":         {responseSamples(), readResponse},
		"response_payload": {responsePayloadSamples(), readResponsePayload},
		"refused":          {refusedSamples(), readRefused},
		"reset":            {resetSamples(), readReset},
	}
}

func TestHandshakeGolden(t *testing.T) {
	for file, k := range everyShaking() {
		t.Run(file, func(t *testing.T) { checkShaking(t, file, k.samples, k.read) })
	}
}

// No answer is larger than the packet that may cause it.
func TestAnswersAreNoLarger(t *testing.T) {
	assert.LessOrEqual(t, RefusedBytes, InitFixed)
	assert.LessOrEqual(t, RetryBytes, InitBytes)
	assert.LessOrEqual(t, ResponseBytes, InitBytes)
	assert.LessOrEqual(t, InitBytes, PayloadMin)
}

// FuzzHandshake: no bytes make a parser panic, and a packet that is accepted is
// encoded to the same bytes again, so that no byte is ignored. Of an INIT of
// another version only the fixed part counts.
func FuzzHandshake(f *testing.F) {
	kinds := everyShaking()
	for _, k := range kinds {
		for _, s := range k.samples {
			f.Add(s.bytes)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for file, k := range kinds {
			value, again, err := k.read(b)
			if err != nil {
				continue
			}
			_ = value.String()
			want := b
			if m, ok := value.(Init); ok && m.Version != Version {
				want, again = b[:InitFixed], again[:InitFixed]
			}
			if !bytes.Equal(want, again) {
				t.Fatalf("%s %v\n  was %x\n  is  %x", file, value, want, again)
			}
		}
	})
}
