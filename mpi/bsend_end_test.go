package mpi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestFinalizeAfterBsend: a buffered send need not be waited for, nor its buffer detached
// (MPI-4.1, 11.2.2).
func TestFinalizeAfterBsend(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{Leave: true}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		const n = 1 << 20
		if w.Rank() == 0 {
			require.NoError(t, p.World().AttachBuffer(make([]byte, n+mpi.BsendOverhead)))
			require.NoError(t, w.Send(bg, mpi.Slice(make([]byte, n)), 1, 0, mpi.Buffered))
		} else {
			_, err := w.Probe(bg, 0, 0)
			require.NoError(t, err)
			st, err := w.Recv(bg, mpi.Slice(make([]byte, n)), 0, 0)
			require.NoError(t, err)
			assert.Equal(t, n, st.Bytes)
		}
		assert.NoError(t, p.Finalize(t.Context()))
	})
}

// TestDetachManual: with a simulation, in which no call can wait, DetachBuffer does not wait for
// ever.
func TestDetachManual(t *testing.T) {
	o := mpitest.Options{TimeMax: 10 * time.Second, Each: func(_ int, o *mpi.Options) { o.Endpoint.Manual = true }}
	mpitest.Run(t, 1, o, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		require.NoError(t, p.World().AttachBuffer(nil))
		require.NoError(t, w.Send(bg, mpi.Slice(make([]byte, 1<<20)), 0, 0, mpi.Buffered))
		_, err := p.World().DetachBuffer(t.Context())
		assert.ErrorIs(t, err, mpi.ErrOther)
		got := make([]byte, 1<<20)
		r := w.Irecv(mpi.Slice(got), 0, 0)
		_, done, err := r.Test()
		require.NoError(t, err)
		assert.True(t, done)
		_, err = p.World().DetachBuffer(t.Context())
		assert.NoError(t, err)
	})
}

// TestIflush: the request ends when all messages of the buffer are sent.
func TestIflush(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		xs := make([]byte, 1<<20)
		if w.Rank() == 1 {
			require.NoError(t, w.Barrier(bg))
			_, err := w.Recv(bg, mpi.Slice(xs), 0, 0)
			require.NoError(t, err)
			return
		}
		_, err := (*mpi.Comm)(nil).IflushBuffer().Wait(bg)
		require.ErrorIs(t, err, mpi.ErrComm)
		_, err = w.IflushBuffer().Wait(bg)
		require.ErrorIs(t, err, mpi.ErrBuffer, "there is none")
		require.NoError(t, w.AttachBuffer(nil))
		require.NoError(t, w.Send(bg, mpi.Slice(xs), 1, 0, mpi.Buffered))
		r := w.IflushBuffer()
		_, done, err := r.Test()
		require.NoError(t, err)
		assert.False(t, done, "nobody receives yet")
		require.NoError(t, w.Barrier(bg))
		_, err = r.Wait(bg)
		require.NoError(t, err)
		_, err = w.DetachBuffer(bg)
		require.NoError(t, err)
	})
}
