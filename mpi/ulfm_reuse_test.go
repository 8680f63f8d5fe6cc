package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestRevokedAndFreed: the news that a communicator was revoked, and its messages, may arrive after
// it was freed and another one has its context. They do not affect that one.
func TestRevokedAndFreed(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	mpitest.Over(t, []string{"mem", "via+shm", "tcp"}, func(t *testing.T, o mpitest.Options) {
		mpitest.Run(t, 5, o, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			for round := range rounds {
				c, err := w.Dup(bg)
				require.NoError(t, err, "round %d", round)
				require.NoError(t, c.Barrier(bg), "round %d", round)
				for dst := range w.Size() {
					_, _, err := c.Isend(mpi.Slice([]int{round}), dst, 0).Peek()
					require.NoError(t, err)
				}
				got := []int{-1}
				_, err = c.Recv(bg, mpi.Slice(got), w.Rank(), 0)
				require.NoError(t, err)
				require.Equal(t, round, got[0])
				require.NoError(t, w.Barrier(bg))
				if w.Rank() == round%w.Size() {
					require.NoError(t, c.Revoke())
				}
				require.NoError(t, c.Free())
			}
		})
	})
}
