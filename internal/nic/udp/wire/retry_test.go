package wire

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func readRetry(b []byte) (fmt.Stringer, []byte, error) {
	m, err := ParseRetry(b)
	return m, m.Append(nil), err
}

func retrySamples() []shaking {
	m := Retry{To: 0x11223344, Nonce: 0x0102030405060708}
	copy(m.Cookie[:], count(32))
	return []shaking{{"typical", "", m, m.Append(nil)}}
}

func TestRetryRefusesTheImpossible(t *testing.T) {
	s := retrySamples()[0]
	refusesOtherKinds(t, readRetry, s)
	for off := 1; off < 4; off++ {
		refusesByte(t, readRetry, s, "zero", off, 1)
	}
	b := retrySamples()[0].bytes
	clear(b[16:])
	_, err := ParseRetry(b)
	assert.ErrorIs(t, err, ErrInvalid, "no cookie")
	b = s.bytes
	binary.LittleEndian.PutUint32(b[4:], 0)
	_, err = ParseRetry(b)
	assert.ErrorIs(t, err, ErrInvalid, "id 0")
}

func TestRetryString(t *testing.T) {
	assert.Equal(t, "RETRY to=0x11223344 nonce=0x102030405060708 cookie=01020304", retrySamples()[0].value.String())
}
