package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestLeftovers: messages that arrive after their communicator was revoked and freed are not kept.
// Otherwise they would finally use up the window.
func TestLeftovers(t *testing.T) {
	looked := make(chan struct{})
	sent := make(chan struct{}) // closed when messages were sent to the rank that takes none
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		for range 300 {
			c, err := w.Dup(bg)
			require.NoError(t, err)
			require.NoError(t, w.Barrier(bg))
			if w.Rank() == 0 {
				require.NoError(t, c.Send(bg, mpi.Slice(make([]byte, 1000)), 1, 0))
				sent <- struct{}{}
			} else {
				<-sent
				require.NoError(t, c.Revoke())
			}
			require.NoError(t, c.Free())
			require.NoError(t, w.Barrier(bg))
		}
		if w.Rank() == 0 {
			<-looked // otherwise Finalize would send messages, too
			return
		}
		assert.Zero(t, mpi.EngineOf(p).Stats().EarlyNow)
		close(looked)
	})
}
