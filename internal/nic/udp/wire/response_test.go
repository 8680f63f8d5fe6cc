package wire

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func readResponse(b []byte) (fmt.Stringer, []byte, error) {
	m, err := ParseResponse(b)
	return m, m.Append(nil), err
}

func responseSamples() (samples []shaking) {
	accepted := Response{Mode: ModeNoise, To: 0x11223344, Nonce: 0x0102030405060708, From: 0x55667788, Port: 4003, Sealed: count(ResponseSealed)}
	rejected := accepted
	rejected.From, rejected.Port = 0, 0
	insecure, static, both := accepted, accepted, accepted
	insecure.Mode, static.Mode, both.Mode = ModeInsecure, ModeStatic, ModeStaticShared
	for _, c := range []struct {
		name string
		m    Response
	}{{"accepted", accepted}, {"rejected", rejected}, {"insecure", insecure}, {"static", static}, {"static_shared", both}} {
		samples = append(samples, shaking{c.name, "", c.m, c.m.Append(nil)})
	}
	return samples
}

func TestResponseRefusesTheImpossible(t *testing.T) {
	s := responseSamples()[0]
	refusesOtherKinds(t, readResponse, s)
	refusesByte(t, readResponse, s, "mode 0", 1, 0)
	refusesByte(t, readResponse, s, "mode 5", 1, 5)
	for _, off := range []int{2, 3, 22, 23} {
		refusesByte(t, readResponse, s, "zero", off, 1)
	}
	b := s.bytes
	binary.LittleEndian.PutUint32(b[4:], 0)
	_, err := ParseResponse(b)
	assert.ErrorIs(t, err, ErrInvalid, "id 0")
}

func TestResponseString(t *testing.T) {
	assert.Equal(t, "RESPONSE mode=noise to=0x11223344 nonce=0x102030405060708 from=0x55667788 port=4003", responseSamples()[0].value.String())
}

func readResponsePayload(b []byte) (fmt.Stringer, []byte, error) {
	m, err := ParseResponsePayload(b)
	return m, m.Append(nil), err
}

func responsePayloadSamples() (samples []shaking) {
	var token Token
	copy(token[:], count(16))
	for _, c := range []struct {
		name string
		m    ResponsePayload
	}{
		{"accepted", ResponsePayload{Cipher: CipherAES, From: 0x55667788, Port: 4003, Token: token, Reason: []byte{}}},
		{"insecure", ResponsePayload{From: 0x55667788, Port: 4003, Token: token, Reason: []byte{}}},
		{"rejected", ResponsePayload{Rejected: true, Reason: []byte("no room for more")}},
		{"silently", ResponsePayload{Rejected: true, Reason: []byte{}}},
		{"longest", ResponsePayload{Rejected: true, Reason: count(ReasonMax)}},
	} {
		samples = append(samples, shaking{c.name, "", c.m, c.m.Append(nil)})
	}
	return samples
}

func TestResponsePayloadRefusesTheImpossible(t *testing.T) {
	accepted, rejected, longest := responsePayloadSamples()[0], responsePayloadSamples()[2], responsePayloadSamples()[4]
	refusesByte(t, readResponsePayload, accepted, "verdict", 0, 2)
	refusesByte(t, readResponsePayload, accepted, "rejected with an id", 0, 1)
	refusesByte(t, readResponsePayload, rejected, "accepted without one", 0, 0)
	refusesByte(t, readResponsePayload, accepted, "two ciphers", 1, 3)
	refusesByte(t, readResponsePayload, accepted, "unknown cipher", 1, 4)
	refusesByte(t, readResponsePayload, accepted, "accepted with a reason", 2, 1)
	refusesByte(t, readResponsePayload, rejected, "shorter reason than there is", 2, 3)
	refusesByte(t, readResponsePayload, longest, "long reason", 2, ReasonMax+1)
	for _, off := range []int{3, 10, 11, 12, 13, 14, 15} {
		refusesByte(t, readResponsePayload, accepted, "zero", off, 1)
	}
	refusesByte(t, readResponsePayload, rejected, "no zero at the end", ResponsePayloadBytes-1, 1)
}

func TestResponsePayloadCutsWhatIsTooLong(t *testing.T) {
	m := ResponsePayload{Rejected: true, Reason: count(ReasonMax + 1)}
	got, err := ParseResponsePayload(m.Append(nil))
	require.NoError(t, err)
	assert.Equal(t, count(ReasonMax), got.Reason)
}

func TestResponsePayloadString(t *testing.T) {
	assert.Equal(t, "accepted cipher=aes-256-gcm from=0x55667788 port=4003", responsePayloadSamples()[0].value.String())
	assert.Equal(t, `rejected reason="no room for more"`, responsePayloadSamples()[2].value.String())
}
