package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/coretest"
)

// However many messages are received last, they do not block a message behind them that is received
// first: once both sides of a pair have begun, one of them ends (MPI-4.1, 3.5, progress).
func TestModelProgressPastUnreceived(t *testing.T) {
	const messages, size = 400, 1000
	f := modelMemory(true)
	f.Limits = func(int) core.Limits { return core.Limits{WindowBytes: 16 << 10} }
	w := coretest.NewWorld(t, 2, f)
	require.NoError(t, w.Run(func(r *coretest.Rank) error {
		var all []coretest.Request
		mem := make([]byte, size)
		post := func(q coretest.Request, err error) {
			require.NoError(t, err)
			all = append(all, q)
		}
		if r.N == 0 {
			for range messages {
				post(r.Isend(0, core.Standard, core.Buffer{Mem: mem}, 1, 1))
			}
			require.NoError(t, r.Send(0, core.Synchronous, core.Buffer{Mem: mem[:8]}, 1, 2))
		} else {
			_, err := r.Recv(0, core.Buffer{Mem: mem[:8]}, 0, 2)
			require.NoError(t, err)
			for range messages {
				post(r.Irecv(0, core.Buffer{Mem: mem}, 0, 1))
			}
		}
		return r.WaitAll(all, nil, nil)
	}))
}
