package ops

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/queue"
)

// TestCancelQueuedIsLocal: a send leaves its queue without a walk, or a context
// with many queued sends would take long to close. The first of the queue loses
// its links while a later one is cancelled, so that no walk gets there.
func TestCancelQueuedIsLocal(t *testing.T) {
	g := newRig(t)
	var ended []error
	var posted []*opState
	for range 6 {
		posted = append(posted, g.post(bmi.KindSend, 1, &ended))
	}
	for _, i := range []int{3, 5} {
		links := posted[0].queued
		posted[0].queued = queue.Links[opState]{}
		g.Cancel(posted[i].op)
		posted[0].queued = links
	}
	require.Len(t, ended, 2)
	for _, err := range ended {
		assert.ErrorIs(t, err, bmi.ErrCancelled)
	}
	for _, i := range []int{0, 1, 2, 4} {
		s := g.peer.sends.First()
		require.Same(t, posted[i], s)
		g.peer.sends.Remove(&s.queued)
	}
	require.Nil(t, g.peer.sends.First())
}
