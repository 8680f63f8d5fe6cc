package mpi_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
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
		require.NoError(t, r.Cancel()) // which has no effect
		told := mpi.Status{Source: 3, Tag: 4, Bytes: 5}
		errs := make(chan error, 1)
		go func() { errs <- complete(told, nil) }()
		st, err := r.Wait()
		require.NoError(t, err)
		assert.Equal(t, told, st)
		require.NoError(t, <-errs)
		assert.ErrorIs(t, complete(told, nil), mpi.ErrRequest)

		// Together with messages, and with an error.
		sad := errors.New("sad")
		r, complete, err = p.GrequestStart(nil)
		require.NoError(t, err)
		got := []int{0}
		in, err := mpi.Irecv(p.World(), got, 1-p.World().Rank(), 1)
		require.NoError(t, err)
		require.NoError(t, mpi.Send(p.World(), []int{7}, 1-p.World().Rank(), 1))
		require.NoError(t, complete(mpi.Status{}, sad))
		each := make([]error, 2)
		err = mpi.WaitAllContext(t.Context(), []mpi.Request{r, in}, nil, each)
		assert.ErrorIs(t, err, mpi.ErrInStatus)
		assert.Equal(t, []error{sad, nil}, each)

		cancelled := func() {}
		r, complete, err = p.GrequestStart(func() { cancelled() })
		require.NoError(t, err)
		cancelled = func() { assert.NoError(t, complete(mpi.Status{Cancelled: true}, nil)) }
		require.NoError(t, r.Cancel())
		st, err = r.Wait()
		require.NoError(t, err)
		assert.True(t, st.Cancelled)
	})
}

// TestPeeks looks for requests that have ended, and leaves them.
func TestPeeks(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		sad := errors.New("sad")
		idle, err := mpi.SendInit(p.Self(), []int{1}, mpi.ProcNull, 1)
		require.NoError(t, err)
		i, _, done, err := mpi.PeekAny([]mpi.Request{{}, idle})
		require.NoError(t, err)
		assert.True(t, done)
		assert.Equal(t, mpi.Undefined, i)

		first, endFirst, err := p.GrequestStart(nil)
		require.NoError(t, err)
		second, endSecond, err := p.GrequestStart(nil)
		require.NoError(t, err)
		reqs := []mpi.Request{{}, first, idle, second}
		_, _, done, err = mpi.PeekAny(reqs)
		require.NoError(t, err)
		assert.False(t, done)
		some, err := mpi.PeekSome(reqs, nil, nil, nil)
		require.NoError(t, err)
		assert.Empty(t, some)
		require.NoError(t, endSecond(mpi.Status{Bytes: 5}, sad))
		statuses, errs := make([]mpi.Status, 4), make([]error, 4)
		for range 2 {
			i, st, done, err := mpi.PeekAny(reqs)
			assert.Equal(t, sad, err)
			assert.True(t, done)
			assert.Equal(t, 3, i)
			assert.Equal(t, 5, st.Bytes)
			some, err := mpi.PeekSome(reqs, nil, statuses, errs)
			assert.ErrorIs(t, err, mpi.ErrInStatus)
			assert.ErrorIs(t, err, sad)
			assert.Equal(t, []int{3}, some)
			assert.Equal(t, 5, statuses[3].Bytes)
			assert.Equal(t, sad, errs[3])
		}
		_, err = second.Wait()
		assert.Equal(t, sad, err)
		_, _, done, err = mpi.PeekAny(reqs)
		require.NoError(t, err)
		assert.False(t, done)
		require.NoError(t, endFirst(mpi.Status{}, nil))
		some, err = mpi.PeekSome(reqs, []int{9}, nil, nil)
		require.NoError(t, err)
		assert.Equal(t, []int{9, 1}, some)
		_, err = mpi.PeekSome(reqs, nil, statuses[:1], nil)
		assert.ErrorIs(t, err, mpi.ErrArg)
		_, err = first.Wait()
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
		assert.Equal(t, one, mpi.ClassOf(err))
		require.NoError(t, p.RemoveErrorClass(one))
		assert.ErrorIs(t, p.RemoveErrorClass(one), mpi.ErrArg)
		assert.ErrorIs(t, p.AddErrorString(mpi.ErrRank, "x"), mpi.ErrArg)
		assert.ErrorIs(t, p.AddErrorString(-1, "x"), mpi.ErrArg)
		three, err := p.AddErrorClass()
		require.NoError(t, err)
		assert.NotEqual(t, one, three)
	})
}
