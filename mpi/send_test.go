package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestSendRecv sends messages of many lengths both ways, and around.
func TestSendRecv(t *testing.T) {
	mpitest.Over(t, everyMethod, func(t *testing.T, o mpitest.Options) {
		for _, n := range []int{1, 2, 3, 5} {
			mpitest.Run(t, n, o, func(t *testing.T, p *mpi.Process) {
				w := p.World()
				assert.Equal(t, n, w.Size())
				for _, length := range []int{0, 1, 7, 1000, 20_000, 300_000} {
					ring(t, w, length)
				}
			})
		}
	})
}

// numbers are what ring passes.
var numbers = kind[int32]{of: func(rank, i int) int32 { return int32(rank*1_000_000 + i) }}

// ring passes numbers to the next rank.
func ring(t *testing.T, w *mpi.Comm, length int) {
	next, before := (w.Rank()+1)%w.Size(), (w.Rank()+w.Size()-1)%w.Size()
	out, in := numbers.slice(w.Rank(), 0, length), make([]int32, length+1)
	req, err := mpi.Isend(w, out, next, length)
	require.NoError(t, err)
	st, err := mpi.Recv(w, in, before, length)
	require.NoError(t, err)
	assert.Equal(t, before, st.Source)
	assert.Equal(t, length, st.Tag)
	require.Equal(t, length, mpi.GetCount[int32](st))
	same(t, numbers.slice(before, 0, length), in[:length], "message")
	_, err = req.Wait()
	require.NoError(t, err)
}
