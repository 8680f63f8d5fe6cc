package wire

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func readInit(b []byte) (fmt.Stringer, []byte, error) {
	m, err := ParseInit(b)
	return m, m.Append(nil), err
}

func initSamples() (samples []shaking) {
	first := Init{Mode: ModeNoise, Version: Version, From: 0x11223344, Nonce: 0x0102030405060708, Port: 4001, Sealed: count(InitSealed)}
	second := first
	copy(second.Cookie[:], count(32))
	insecure := second
	insecure.Mode = ModeInsecure
	static := second
	static.Mode, static.Sealed = ModeStatic, count(InitStaticBytes-InitClear)
	both := static
	both.Mode = ModeStaticShared
	for _, c := range []struct {
		name, comment string
		m             Init
	}{
		{"first", "Without a cookie.", first},
		{"second", "With the cookie of a RETRY.", second},
		{"insecure", "", insecure},
		{"static", "With a static key inside.", static},
		{"static_shared", "", both},
	} {
		samples = append(samples, shaking{c.name, c.comment, c.m, c.m.Append(nil)})
	}
	return samples
}

func TestInitRefusesTheImpossible(t *testing.T) {
	s := initSamples()[0]
	refusesOtherKinds(t, readInit, s)
	refusesByte(t, readInit, s, "mode 0", 1, 0)
	refusesByte(t, readInit, s, "mode 5", 1, 5)
	for off := 18; off < 24; off++ {
		refusesByte(t, readInit, s, "zero", off, 1)
	}
	b := s.bytes
	binary.LittleEndian.PutUint32(b[4:], 0)
	_, err := ParseInit(b)
	assert.ErrorIs(t, err, ErrInvalid, "id 0")
}

// The mode determines the length of an INIT, and no other length is accepted.
func TestInitHasTheLengthOfItsMode(t *testing.T) {
	for _, s := range initSamples() {
		b := s.bytes
		for mode := ModeInsecure; mode <= ModeStaticShared; mode++ {
			b[1] = byte(mode)
			_, err := ParseInit(b)
			switch {
			case len(b) == mode.InitBytes():
				assert.NoError(t, err, "%s as %v", s.name, mode)
			case len(b) < mode.InitBytes():
				assert.ErrorIs(t, err, ErrShort, "%s as %v", s.name, mode)
			default:
				assert.ErrorIs(t, err, ErrLong, "%s as %v", s.name, mode)
			}
		}
	}
}

// Of another version the fixed part is parsed, and nothing else is checked, so
// that the answer can name the reason.
func TestInitOfAnotherVersion(t *testing.T) {
	b := []byte(strings.Repeat("\xff", InitFixed))
	b[0] = byte(KindInit)
	for range 3 {
		m, err := ParseInit(b)
		require.NoError(t, err)
		assert.Equal(t, Init{Mode: 0xff, Version: 0xffff, From: ^uint32(0), Nonce: ^uint64(0)}, m)
		b = append(b, count(300)...)
	}
	for n := range InitFixed {
		_, err := ParseInit(b[:n])
		assert.ErrorIs(t, err, ErrShort, "%d bytes", n)
	}
}

func TestInitString(t *testing.T) {
	assert.Equal(t, "INIT version=2 mode=noise from=0x11223344 nonce=0x102030405060708 port=4001 cookie=true", initSamples()[1].value.String())
	assert.Equal(t, "Mode(9)", Mode(9).String())
}

func readInitPayload(b []byte) (fmt.Stringer, []byte, error) {
	m, err := ParseInitPayload(b)
	return m, m.Append(nil), err
}

func initPayloadSamples() (samples []shaking) {
	var token Token
	copy(token[:], count(16))
	for _, c := range []struct {
		name string
		m    InitPayload
	}{
		{"typical", InitPayload{Token: token, Ciphers: CipherChaCha | CipherAES, Private: count(48), Name: "192.0.2.1:7000"}},
		{"smallest", InitPayload{Private: []byte{}}},
		{"largest", InitPayload{Token: token, Ciphers: CipherAES, Private: count(PrivateMax), Name: strings.Repeat("n", NameMax)}},
	} {
		samples = append(samples, shaking{c.name, "", c.m, c.m.Append(nil)})
	}
	return samples
}

func TestInitPayloadRefusesTheImpossible(t *testing.T) {
	s, largest := initPayloadSamples()[0], initPayloadSamples()[2]
	refusesByte(t, readInitPayload, s, "unknown cipher", 16, 4)
	refusesByte(t, readInitPayload, s, "longer name than there is", 17, NameMax+1)
	refusesByte(t, readInitPayload, s, "shorter name than there is", 17, 13)
	refusesByte(t, readInitPayload, s, "long private data", 19, 2)
	refusesByte(t, readInitPayload, largest, "one byte over the limit", 18, 1)
	refusesByte(t, readInitPayload, s, "no zero at the end", InitPayloadBytes-1, 1)
	refusesByte(t, readInitPayload, s, "no zero behind the name", initPayloadFixed+48+14, 1)
}

func TestInitPayloadCutsWhatIsTooLong(t *testing.T) {
	m := InitPayload{Private: count(PrivateMax + 1), Name: strings.Repeat("n", NameMax+1)}
	got, err := ParseInitPayload(m.Append(nil))
	require.NoError(t, err)
	assert.Len(t, got.Private, PrivateMax)
	assert.Len(t, got.Name, NameMax)
}

func TestInitPayloadString(t *testing.T) {
	assert.Equal(t, `ciphers=chacha20-poly1305,aes-256-gcm private=0102 name="a"`,
		InitPayload{Ciphers: CipherChaCha | CipherAES, Private: count(2), Name: "a"}.String())
	assert.Equal(t, "none", Ciphers(0).String())
	assert.Equal(t, "Ciphers(0x8)", Ciphers(8).String())
}
