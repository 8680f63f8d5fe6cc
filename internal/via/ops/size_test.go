package ops

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// TestSizeOfPeer: the record of a peer fits the allocator's size class of 768 bytes. The
// allocator itself uses 8 of them. The next class has 896 bytes.
func TestSizeOfPeer(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 {
		assert.LessOrEqual(t, unsafe.Sizeof(Peer{}), uintptr(768-8))
	}
}
