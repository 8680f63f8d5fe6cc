package message

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// TestUndelivered: a message that its owner believes sent counts until the other
// side has it, even after the end; one that was returned unsent does not.
func TestUndelivered(t *testing.T) {
	p := plainPair(t, nic.ReliableDelivery)
	q := p.sides[0].q
	require.False(t, q.Undelivered(), "nothing was sent")
	require.NoError(t, p.sides[1].q.PostRecv(recv(make([]byte, testLimits.MTUBytes))))
	p.post(send(make([]byte, 2000))) // in several segments
	require.True(t, q.Undelivered())
	for p.emit(0, LaneData, 1000) {
	}
	for len(p.flights) > 0 {
		p.land(0, false)
	}
	p.ack(0)
	require.True(t, q.Undelivered(), "only a part is acknowledged")
	for len(p.acks) > 0 {
		p.ack(0)
	}
	require.False(t, q.Undelivered())

	require.NoError(t, p.sides[1].q.PostRecv(recv(make([]byte, testLimits.MTUBytes))))
	copied := send(make([]byte, testLimits.PriorityBytes))
	p.post(copied)
	require.Equal(t, nic.StatusSuccess, copied.Status, "for its owner it is sent")
	back := p.post(send(make([]byte, 2000)))
	q.Leave()
	assert.Equal(t, nic.StatusFlushed, back.Status)
	assert.True(t, q.Undelivered())
	for p.emit(0, LanePriority, 1000) {
	}
	require.Len(t, p.flights, 2, "a farewell, which goes first, and the copy")
	p.land(0, false)
	p.ack(0)
	assert.True(t, q.Undelivered())
	p.land(0, false)
	p.ack(0)
	assert.False(t, q.Undelivered(), "what came back does not count")
	assert.True(t, q.Left())
}
