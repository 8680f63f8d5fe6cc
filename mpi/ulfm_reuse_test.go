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
				c, err := w.Dup()
				require.NoError(t, err, "round %d", round)
				require.NoError(t, mpi.Barrier(c), "round %d", round)
				for dst := range w.Size() {
					_, err := mpi.Isend(c, []int{round}, dst, 0)
					require.NoError(t, err)
				}
				got := []int{-1}
				_, err = mpi.Recv(c, got, w.Rank(), 0)
				require.NoError(t, err)
				require.Equal(t, round, got[0])
				require.NoError(t, mpi.Barrier(w))
				if w.Rank() == round%w.Size() {
					require.NoError(t, c.Revoke())
				}
				require.NoError(t, c.Free())
			}
		})
	})
}
