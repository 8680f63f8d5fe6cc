package mpi_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestAcceptAfterGivenUp: Accept does not accept a process that connected to the port and has given
// up, but one that waits.
func TestAcceptAfterGivenUp(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w, name := p.World(), make([]byte, 200)
		if w.Rank() == 0 {
			port, err := p.OpenPort(t.Context(), nil)
			require.NoError(t, err)
			copy(name, port)
			require.NoError(t, w.Send(bg, mpi.Slice(name), 1, len(port)))
			require.NoError(t, w.Barrier(bg))
			ctx, cancel := context.WithTimeout(t.Context(), wallclock.Patience)
			defer cancel()
			inter, err := p.Self().Accept(ctx, port, 0)
			require.NoError(t, err)
			require.NoError(t, inter.Disconnect(bg))
			return
		}
		st, err := w.Recv(bg, mpi.Slice(name), 0, mpi.AnyTag)
		require.NoError(t, err)
		port := string(name[:st.Tag])
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			_, err := p.Self().Connect(ctx, port, 0)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
		}
		require.NoError(t, w.Barrier(bg))
		ctx, cancel := context.WithTimeout(t.Context(), wallclock.Patience)
		defer cancel()
		inter, err := p.Self().Connect(ctx, port, 0)
		require.NoError(t, err)
		require.NoError(t, inter.Disconnect(bg))
	})
}
