package via

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// TestSizeOfRemote: the record of a peer fits the allocator's class of 768 bytes, of which the
// allocator uses 8. The next class has 896.
func TestSizeOfRemote(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 {
		assert.LessOrEqual(t, unsafe.Sizeof(remote{}), uintptr(768-8))
	}
}
