package wire

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestKindOf(t *testing.T) {
	_, ok := KindOf(nil)
	assert.False(t, ok, "an empty datagram")
	known := 0
	for b := range 256 {
		k, ok := KindOf([]byte{byte(b), 0xff})
		assert.Equal(t, Kind(b), k)
		assert.Equal(t, ok, k.Valid())
		if ok {
			known++
			assert.NotContains(t, k.String(), "Kind(")
		} else {
			assert.Contains(t, k.String(), "Kind(")
		}
	}
	assert.Equal(t, 6, known)
	assert.Equal(t, "PACKET", KindPacket.String())
}
