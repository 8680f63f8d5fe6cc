package rma_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/attr"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
	"github.com/viaduct-hpc/viaduct/mpi/rma"
)

// A journal is a hook that writes down what it sees.
type journal struct{ entered, left []string }

func (j *journal) Enter(call *mpi.Call) { j.entered = append(j.entered, call.Name) }

func (j *journal) Leave(call *mpi.Call, err error) {
	j.left = append(j.left, call.Name)
	if err != nil {
		j.left = append(j.left, "error")
	}
}

// TestHook: the hook sees each call once, and its error, and none of the calls inside.
func TestHook(t *testing.T) {
	seen := &journal{}
	o := mpitest.Options{Each: func(_ int, o *mpi.Options) { o.Hook = seen }}
	mpitest.Run(t, 1, o, func(t *testing.T, p *mpi.Process) {
		w, err := rma.Allocate(bg, p.World(), 8, 8, nil)
		require.NoError(t, err)
		assert.Equal(t, "MPI_Win_allocate", seen.left[len(seen.left)-1])
		assert.NotContains(t, seen.entered, "MPI_Comm_dup", "calls inside")
		assert.NotContains(t, seen.entered, "MPI_Allgather", "calls inside")
		seen.entered, seen.left = nil, nil
		x, old := int64(1), int64(0)
		require.NoError(t, w.Fence(bg))
		w.Put(mpi.Value(&x), rma.At(0, 0))
		w.FetchAndOp(mpi.Value(&x), mpi.Value(&old), rma.At(0, 0), mpi.Sum)
		w.Accumulate(mpi.Value(&x), rma.At(0, 0), mpi.Sum)
		require.NoError(t, w.Fence(bg, rma.NoSucceed))
		require.ErrorIs(t, w.Flush(bg, 0), mpi.ErrRMASync)
		names := []string{"MPI_Win_fence", "MPI_Rput", "MPI_Fetch_and_op", "MPI_Raccumulate", "MPI_Win_fence", "MPI_Win_flush"}
		assert.Equal(t, names, seen.entered)
		assert.Equal(t, slices.Concat(names, []string{"error"}), seen.left)

		seen.entered, seen.left = nil, nil
		key := attr.NewKeyval[*rma.Win](nil, nil)
		require.NoError(t, w.SetAttr(key, 1))
		_, _, err = w.Attr(key)
		require.NoError(t, err)
		require.NoError(t, w.DeleteAttr(key))
		require.NoError(t, w.SetInfo(nil))
		_, err = w.Put(mpi.Value(&x), rma.At(9, 0)).Wait(bg)
		require.ErrorIs(t, err, mpi.ErrRank)
		require.ErrorIs(t, w.Free(bg), mpi.ErrRank, "the same error")
		names = []string{"MPI_Win_set_attr", "MPI_Win_get_attr", "MPI_Win_delete_attr", "MPI_Win_set_info", "MPI_Rput", "MPI_Wait", "MPI_Win_free"}
		assert.Equal(t, names, seen.entered)
	})
}
