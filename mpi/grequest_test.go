package mpi_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestGeneralizedRequests: they end once, when the program says so, with the program's result.
func TestGeneralizedRequests(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		r, complete, err := p.GrequestStart(nil)
		require.NoError(t, err)
		_, done, err := r.Test()
		require.NoError(t, err)
		assert.False(t, done)
		require.NoError(t, r.Cancel()) // this has no effect
		told := mpi.Status{Source: 3, Tag: 4, Bytes: 5}
		errs := make(chan error, 1)
		go func() { errs <- complete(told, nil) }()
		st, err := r.Wait(bg)
		require.NoError(t, err)
		assert.Equal(t, told, st)
		require.NoError(t, <-errs)
		assert.ErrorIs(t, complete(told, nil), mpi.ErrRequest)

		// Together with messages, and with an error.
		sad := errors.New("sad")
		r, complete, err = p.GrequestStart(nil)
		require.NoError(t, err)
		got := []int{0}
		in := p.World().Irecv(mpi.Slice(got), 1-p.World().Rank(), 1)
		require.NoError(t, p.World().Send(bg, mpi.Slice([]int{7}), 1-p.World().Rank(), 1))
		require.NoError(t, complete(mpi.Status{}, sad))
		each := make([]mpi.Status, 2)
		err = mpi.Requests{r, in}.WaitAll(t.Context(), each)
		assert.ErrorIs(t, err, mpi.ErrInStatus)
		assert.Equal(t, sad, each[0].Err)
		assert.Equal(t, mpi.Status{Source: 1 - p.World().Rank(), Tag: 1, Bytes: 8}, each[1])

		cancelled := func() {}
		r, complete, err = p.GrequestStart(func() { cancelled() })
		require.NoError(t, err)
		cancelled = func() { assert.NoError(t, complete(mpi.Status{Cancelled: true}, nil)) }
		require.NoError(t, r.Cancel())
		st, err = r.Wait(bg)
		require.NoError(t, err)
		assert.True(t, st.Cancelled)
	})
}

// TestPeek looks for requests that have ended, and leaves them.
func TestPeek(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		sad := errors.New("sad")
		idle := p.Self().Isend(mpi.Slice([]int{1}), mpi.ProcNull, 1, mpi.Persistent)
		_, done, err := idle.Peek()
		require.NoError(t, err)
		assert.True(t, done)
		first, endFirst, err := p.GrequestStart(nil)
		require.NoError(t, err)
		second, endSecond, err := p.GrequestStart(nil)
		require.NoError(t, err)
		require.NoError(t, endSecond(mpi.Status{Bytes: 5}, sad))
		for range 2 {
			_, done, err := first.Peek()
			require.NoError(t, err)
			assert.False(t, done)
			st, done, err := second.Peek()
			assert.Equal(t, sad, err)
			assert.True(t, done)
			assert.Equal(t, mpi.Status{Bytes: 5}, st)
		}
		_, err = second.Wait(bg)
		assert.Equal(t, sad, err)
		_, done, err = second.Peek()
		require.NoError(t, err)
		assert.True(t, done)
		require.NoError(t, endFirst(mpi.Status{}, nil))
		_, done, err = first.Peek()
		require.NoError(t, err)
		assert.True(t, done)
		_, err = first.Wait(bg)
		require.NoError(t, err)
		require.NoError(t, idle.Free())
	})
}

// TestErrorClasses: a class that a program adds belongs only to its process.
func TestErrorClasses(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		if p.World().Rank() == 1 {
			assert.ErrorIs(t, p.AddErrorString(mpi.ErrRevoked+1, "x"), mpi.ErrArg)
			return
		}
		one, err := p.AddErrorClass()
		require.NoError(t, err)
		two, err := p.AddErrorClass()
		require.NoError(t, err)
		assert.NotEqual(t, one, two)
		require.NoError(t, p.AddErrorString(one, "the sea is rough"))
		assert.Equal(t, "the sea is rough", p.ErrorString(one))
		assert.NotEmpty(t, p.ErrorString(two))
		assert.Equal(t, "MPI_ERR_RANK", p.ErrorString(mpi.ErrRank))
		err = fmt.Errorf("in a library: %w", &mpi.Error{Class: one, Text: "waves of 9 m"})
		assert.ErrorIs(t, err, one)
		assert.NotErrorIs(t, err, two)
		assert.Equal(t, one, errclass.Of(err))
		require.NoError(t, p.RemoveErrorClass(one))
		assert.ErrorIs(t, p.RemoveErrorClass(one), mpi.ErrArg)
		assert.ErrorIs(t, p.AddErrorString(mpi.ErrRank, "x"), mpi.ErrArg)
		assert.ErrorIs(t, p.AddErrorString(-1, "x"), mpi.ErrArg)
		three, err := p.AddErrorClass()
		require.NoError(t, err)
		assert.NotEqual(t, one, three)
	})
}
