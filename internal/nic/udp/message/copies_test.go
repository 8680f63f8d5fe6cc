package message

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// TestCopiesAreBounded: copied sends are done at once until the copies reach their
// limit of memory. Then sends wait for their acks, except small ones. Once the copies
// have arrived, sends are copied again.
func TestCopiesAreBounded(t *testing.T) {
	p := plainPair(t, nic.ReliableDelivery)
	q := p.sides[0].q
	fill := func() (copied int) {
		for {
			require.NoError(t, p.sides[1].q.PostRecv(recv(make([]byte, testLimits.CopyBytes))))
			d := send(make([]byte, testLimits.CopyBytes))
			done, err := q.PostSend(d)
			require.NoError(t, err)
			if !done {
				return copied
			}
			copied++
			if copied%32 == 0 {
				p.emit(0, LaneData, 2000) // the copies are sent, and not acknowledged
			}
			if copied > CopiesMax {
				return copied
			}
		}
	}
	p.sides[1].q = New(Config{
		Attrs:  nic.PortAttrs{Reliability: nic.ReliableDelivery, RecvDepth: 2 * CopiesMax, SendDepth: 1},
		Limits: testLimits, Memory: p.sides[1].mem, Buffers: p.sides[1],
	})
	first := fill()
	assert.Equal(t, (CopiedBytesMax+testLimits.CopyBytes-1)/testLimits.CopyBytes, first)

	require.NoError(t, p.sides[1].q.PostRecv(recv(make([]byte, smallCopy))))
	done, err := q.PostSend(send(make([]byte, smallCopy)))
	require.NoError(t, err)
	assert.True(t, done, "a small send is copied as long as there are few")

	p.run()
	require.False(t, q.Undelivered())
	assert.Equal(t, first, fill())
}
