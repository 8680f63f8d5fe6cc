package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// posted posts receives from this process itself, with tags 0 to n-1, and a null request
// behind every one.
func posted(t *testing.T, c *mpi.Comm, n int) []mpi.Request {
	t.Helper()
	var reqs []mpi.Request
	for tag := range n {
		r, err := mpi.Irecv(c, make([]int, 1), 0, tag)
		require.NoError(t, err)
		reqs = append(reqs, r, mpi.Request{})
	}
	return reqs
}

func give(t *testing.T, c *mpi.Comm, tags ...int) {
	t.Helper()
	for _, tag := range tags {
		require.NoError(t, mpi.Send(c, []int{tag}, 0, tag))
	}
}

// TestNullRequests end at once.
func TestNullRequests(t *testing.T) {
	var none mpi.Request
	assert.True(t, none.IsNull())
	empty := func(st mpi.Status, err error) {
		t.Helper()
		require.NoError(t, err)
		assert.Equal(t, mpi.Status{Source: mpi.AnySource, Tag: mpi.AnyTag}, st)
	}
	empty(none.Wait())
	st, done, err := none.Test()
	assert.True(t, done)
	empty(st, err)
	st, done, err = none.Peek()
	assert.True(t, done)
	empty(st, err)
	require.NoError(t, mpi.WaitAll())
	require.NoError(t, mpi.WaitAll(none, none))
	statuses, errs := make([]mpi.Status, 2), []error{assert.AnError, assert.AnError}
	done, err = mpi.TestAll([]mpi.Request{none, none}, statuses, errs)
	assert.True(t, done)
	empty(statuses[1], err)
	assert.Equal(t, []error{nil, nil}, errs)
	i, st, err := mpi.WaitAny(none)
	assert.Equal(t, mpi.Undefined, i)
	empty(st, err)
	i, st, done, err = mpi.TestAny(nil)
	assert.Equal(t, mpi.Undefined, i)
	assert.True(t, done)
	empty(st, err)
	some, err := mpi.WaitSome(t.Context(), []mpi.Request{none}, nil, nil, nil)
	require.NoError(t, err)
	assert.Empty(t, some)
	some, err = mpi.TestSome(nil, nil, nil, nil)
	require.NoError(t, err)
	assert.Empty(t, some)
}

// TestWaits: any, some and all, in the order in which messages arrive.
func TestWaits(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s := p.Self()
		reqs := posted(t, s, 4)
		_, _, done, err := mpi.TestAny(reqs)
		require.NoError(t, err)
		assert.False(t, done)
		_, _, err = mpi.WaitAnyContext(ended(), reqs)
		assert.Error(t, err)

		give(t, s, 2)
		st, done, err := reqs[4].Peek()
		require.NoError(t, err)
		assert.True(t, done)
		assert.Equal(t, 2, st.Tag)
		i, st, err := mpi.WaitAny(reqs...)
		require.NoError(t, err)
		assert.Equal(t, 4, i)
		assert.Equal(t, 2, st.Tag)
		i, _, done, err = mpi.TestAny(reqs)
		require.NoError(t, err)
		assert.False(t, done, "request %d", i)

		give(t, s, 0, 3)
		statuses, errs := make([]mpi.Status, 8), make([]error, 8)
		some, err := mpi.WaitSome(t.Context(), reqs, []int{-7}, statuses, errs)
		require.NoError(t, err)
		assert.Equal(t, []int{-7, 0, 6}, some)
		assert.Equal(t, 3, statuses[6].Tag)
		some, err = mpi.TestSome(reqs, some[:0], statuses, errs)
		require.NoError(t, err)
		assert.Empty(t, some)
		done, err = mpi.TestAll(reqs, nil, nil)
		require.NoError(t, err)
		assert.False(t, done)
		assert.Error(t, mpi.WaitAllContext(ended(), reqs, nil, nil))

		give(t, s, 1)
		require.NoError(t, mpi.WaitAllContext(t.Context(), reqs, statuses, errs))
		assert.Equal(t, 1, statuses[2].Tag)
		assert.Equal(t, mpi.AnyTag, statuses[0].Tag, "it had ended before")
		done, err = mpi.TestAll(reqs, statuses, nil)
		require.NoError(t, err)
		assert.True(t, done)
	})
}

// TestWaitsFail: if some requests fail, the class is ErrInStatus, and each has its own error.
func TestWaitsFail(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s := p.Self()
		post := func() []mpi.Request {
			reqs := posted(t, s, 2)
			require.NoError(t, mpi.Send(s, []int{1, 2}, 0, 1)) // too long
			give(t, s, 0)
			return reqs
		}
		errs, statuses := make([]error, 4), make([]mpi.Status, 4)
		wrong := func(err error) {
			t.Helper()
			fails(t, err, mpi.ErrInStatus, "request 2")
			require.ErrorIs(t, err, mpi.ErrTruncate)
			require.NoError(t, errs[0])
			require.ErrorIs(t, errs[2], mpi.ErrTruncate)
			assert.Equal(t, 1, statuses[2].Tag)
			clear(errs)
		}
		wrong(mpi.WaitAllContext(t.Context(), post(), statuses, errs))
		done, err := mpi.TestAll(post(), statuses, errs)
		assert.True(t, done)
		wrong(err)
		some, err := mpi.WaitSome(t.Context(), post(), nil, statuses, errs)
		assert.Equal(t, []int{0, 2}, some)
		wrong(err)
		fails(t, mpi.WaitAll(post()...), mpi.ErrInStatus, "request 2")
		reqs := post()
		_, err = reqs[0].Wait()
		require.NoError(t, err)
		i, _, err := mpi.WaitAny(reqs...)
		assert.Equal(t, 2, i)
		fails(t, err, mpi.ErrTruncate, "")
	})
}

// TestCancelAndFree: a cancelled receive takes no message, a freed one does.
func TestCancelAndFree(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s, x := p.Self(), []int{0}
		r, err := mpi.Irecv(s, x, 0, 1)
		require.NoError(t, err)
		require.NoError(t, r.Cancel())
		st, err := r.Wait()
		require.NoError(t, err)
		assert.True(t, st.Cancelled)
		r, err = mpi.Irecv(s, []int{0}, 0, 1)
		require.NoError(t, err)
		require.NoError(t, r.Free())
		fails(t, r.Free(), mpi.ErrRequest, "")
		give(t, s, 1, 1)
		_, err = mpi.Recv(s, x, 0, 1)
		require.NoError(t, err)
		_, there, err := s.Iprobe(0, 1)
		require.NoError(t, err)
		assert.False(t, there, "the freed receive had the first message")

		sent, err := mpi.Issend(s, x, 0, 2)
		require.NoError(t, err)
		require.NoError(t, sent.Cancel())
		st, err = sent.Wait()
		require.NoError(t, err)
		assert.True(t, st.Cancelled)
	})
}

// TestRequestsOfTwoProcesses: they cannot be waited for together, because each process has its own
// engine.
func TestRequestsOfTwoProcesses(t *testing.T) {
	requests := make(chan mpi.Request, 2)
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		r, err := mpi.Irecv(p.Self(), []int{0}, 0, 1)
		require.NoError(t, err)
		requests <- r
		require.NoError(t, mpi.Barrier(p.World()))
		if p.World().Rank() == 0 {
			a, b := <-requests, <-requests
			fails(t, mpi.WaitAll(a, b), mpi.ErrRequest, "several processes")
		}
		require.NoError(t, mpi.Barrier(p.World()))
		require.NoError(t, r.Cancel())
		_, err = r.Wait()
		require.NoError(t, err)
	})
}
