package udp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// TestEventsTakeNoMoreMemoryThanWaits: events come in order, and a few waiting events
// use the memory of a few.
func TestEventsTakeNoMoreMemoryThanWaits(t *testing.T) {
	const waiting, rounds = 5, 100_000
	d := &Device{}
	var next, expected nic.RequestID
	push := func() {
		d.push(nic.Event{Conn: &nic.ConnEvent{Request: next}})
		next++
	}
	for range waiting {
		push()
	}
	out := make([]nic.Event, 1)
	for range rounds {
		push()
		require.Equal(t, 1, d.handOut(out))
		require.Equal(t, expected, out[0].Conn.Request)
		expected++
	}
	require.LessOrEqual(t, cap(d.events), 8*waiting)
}
