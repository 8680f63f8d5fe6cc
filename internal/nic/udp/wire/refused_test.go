package wire

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func readRefused(b []byte) (fmt.Stringer, []byte, error) {
	m, err := ParseRefused(b)
	return m, m.Append(nil), err
}

func refusedSamples() (samples []shaking) {
	for _, c := range []struct {
		name string
		code Code
	}{
		{"key", CodeKey}, {"version", CodeVersion}, {"nobody", CodeNobody}, {"busy", CodeBusy}, {"unknown", CodeUnknown},
		{"uses_insecure", CodeUses(ModeInsecure)}, {"uses_noise", CodeUses(ModeNoise)},
		{"uses_static", CodeUses(ModeStatic)}, {"uses_static_shared", CodeUses(ModeStaticShared)},
	} {
		m := Refused{Code: c.code, Version: Version, To: 0x11223344, Nonce: 0x0102030405060708}
		samples = append(samples, shaking{c.name, "", m, m.Append(nil)})
	}
	return samples
}

func TestRefusedRefusesTheImpossible(t *testing.T) {
	s := refusedSamples()[0]
	refusesOtherKinds(t, readRefused, s)
	refusesByte(t, readRefused, s, "code 0", 1, 0)
}

// A code names the sender's mode.
func TestCodesOfModes(t *testing.T) {
	for own := ModeInsecure; own <= ModeStaticShared; own++ {
		uses, ok := CodeUses(own).Uses()
		assert.True(t, ok)
		assert.Equal(t, own, uses)
	}
	for code := range 256 {
		if mode, ok := Code(code).Uses(); ok {
			assert.True(t, mode.valid(), "%d", code)
		}
	}
	_, ok := CodeUnknown.Uses()
	assert.False(t, ok)
}

// A later version may have more reasons to refuse.
func TestRefusedWithAnotherCode(t *testing.T) {
	b := refusedSamples()[0].bytes
	b[1] = 200
	m, err := ParseRefused(b)
	require.NoError(t, err)
	assert.Equal(t, "Code(200)", m.Code.String())
}

func TestRefusedString(t *testing.T) {
	var codes []string
	for _, s := range refusedSamples() {
		codes = append(codes, s.value.(Refused).Code.String())
	}
	assert.Equal(t, []string{"key", "version", "nobody listens", "busy", "unknown",
		"mode insecure", "mode noise", "mode static", "mode static+shared"}, codes)
	assert.Equal(t, "REFUSED code=key version=2 to=0x11223344 nonce=0x102030405060708", refusedSamples()[0].value.String())
}
