package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestFinalizeReportsLostMessages: a message goes to a process that has died. Its send has returned, so either a later call tells, or
// Finalize does.
func TestFinalizeReportsLostMessages(t *testing.T) {
	mpitest.Over(t, []string{"via+shm", "tcp"}, func(t *testing.T, o mpitest.Options) {
		for _, waits := range []bool{false, true} {
			o.Leave = true
			dead := make(chan struct{})
			mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
				w := p.World()
				if w.Rank() == 1 {
					mpitest.Kill(p)
					close(dead)
					return
				}
				<-dead
				require.NoError(t, w.Send(t.Context(), mpi.Slice([]byte("hello")), 1, 0))
				if waits {
					_, err := w.Recv(t.Context(), mpi.Slice(make([]byte, 1)), 1, 0)
					require.ErrorIs(t, err, mpi.ErrProcFailed)
					require.NoError(t, p.Finalize(t.Context()), "the program knows")
					return
				}
				err := p.Finalize(t.Context())
				require.ErrorIs(t, err, mpi.ErrProcFailed)
				require.ErrorContains(t, err, "messages did not arrive (1)")
			})
		}
	})
}
