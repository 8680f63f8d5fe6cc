package udp

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/nic/udp/message"
)

// TestBuffersAreGivenBack: a device keeps buffers for the next messages, but not all
// buffers that were ever needed.
func TestBuffersAreGivenBack(t *testing.T) {
	d := &Device{}
	count := func() (n int) {
		for b := d.buffers; b != nil; b = b.next {
			n++
		}
		return n
	}
	for range 2 {
		var loans []message.Loan
		for range 2 * sparesMax {
			mem, loan, ok := d.Take(MTUBytes)
			require.True(t, ok)
			require.Len(t, mem, MTUBytes)
			loans = append(loans, loan)
		}
		assert.Zero(t, count())
		assert.Equal(t, len(loans), d.lent)
		for _, loan := range loans {
			loan.Hold()
			loan.Free()
			loan.Free()
		}
		assert.Equal(t, sparesMax, count())
		assert.Equal(t, count(), d.spare)
		assert.Zero(t, d.lent)
	}
	_, _, ok := d.Take(MTUBytes + 1)
	assert.False(t, ok)
}
