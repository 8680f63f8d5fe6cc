package wire

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func readReset(b []byte) (fmt.Stringer, []byte, error) {
	m, err := ParseReset(b)
	return m, m.Append(nil), err
}

func resetSamples() []shaking {
	m := Reset{To: 0x55667788}
	copy(m.Token[:], count(16))
	return []shaking{{"typical", "", m, m.Append(nil)}}
}

func TestResetRefusesTheImpossible(t *testing.T) {
	s := resetSamples()[0]
	refusesOtherKinds(t, readReset, s)
	for off := 1; off < 4; off++ {
		refusesByte(t, readReset, s, "zero", off, 1)
	}
	b := s.bytes
	binary.LittleEndian.PutUint32(b[4:], 0)
	_, err := ParseReset(b)
	assert.ErrorIs(t, err, ErrInvalid, "id 0")
}

func TestResetString(t *testing.T) {
	assert.Equal(t, "RESET to=0x55667788", resetSamples()[0].value.String())
}
