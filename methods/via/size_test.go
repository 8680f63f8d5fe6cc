package via

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
)

// TestSizeOfRemote: what is kept of every known peer fits a class of 768 bytes of the
// allocator, 8 of which are its own; the next one has 896.
func TestSizeOfRemote(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 {
		assert.LessOrEqual(t, unsafe.Sizeof(remote{}), uintptr(768-8))
	}
}
