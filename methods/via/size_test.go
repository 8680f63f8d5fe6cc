package via

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// TestSizeOfRemote: the record of a peer fits the allocator's size class of 768 bytes. The
// allocator itself uses 8 of them. The next class has 896 bytes.
func TestSizeOfRemote(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 {
		assert.LessOrEqual(t, unsafe.Sizeof(remote{}), uintptr(768-8))
	}
}
