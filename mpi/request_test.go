package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// posted posts receives from this process itself, with tags 0 to n-1, and a null request
// behind every one.
func posted(c *mpi.Comm, n int) mpi.Requests {
	var reqs mpi.Requests
	for tag := range n {
		reqs = append(reqs, c.Irecv(mpi.Slice(make([]int, 1)), 0, tag), mpi.Request{})
	}
	return reqs
}

func give(t *testing.T, c *mpi.Comm, tags ...int) {
	t.Helper()
	for _, tag := range tags {
		require.NoError(t, c.Send(bg, mpi.Slice([]int{tag}), 0, tag))
	}
}

// TestNullRequests end at once.
func TestNullRequests(t *testing.T) {
	var none mpi.Request
	assert.Equal(t, mpi.Request{}, none)
	empty := func(st mpi.Status, err error) {
		t.Helper()
		require.NoError(t, err)
		assert.Equal(t, mpi.Status{Source: mpi.AnySource, Tag: mpi.AnyTag}, st)
	}
	empty(none.Wait(bg))
	st, done, err := none.Test()
	assert.True(t, done)
	empty(st, err)
	st, done, err = none.Peek()
	assert.True(t, done)
	empty(st, err)
	require.NoError(t, mpi.WaitAll(bg))
	require.NoError(t, mpi.WaitAll(bg, none, none))
	statuses := []mpi.Status{{Err: assert.AnError}, {Err: assert.AnError}}
	done, err = mpi.Requests{none, none}.TestAll(statuses)
	assert.True(t, done)
	empty(statuses[0], err)
	empty(statuses[1], err)
	statuses[1].Err = assert.AnError
	empty(statuses[0], mpi.Requests{none, none}.WaitAll(bg, statuses))
	empty(statuses[1], nil)
	i, st, err := mpi.Requests{none}.WaitAny(bg)
	assert.Equal(t, mpi.Undefined, i)
	empty(st, err)
	i, st, done, err = mpi.Requests(nil).TestAny()
	assert.Equal(t, mpi.Undefined, i)
	assert.True(t, done)
	empty(st, err)
	some, err := mpi.Requests{none}.WaitSome(t.Context(), nil, nil)
	require.NoError(t, err)
	assert.Empty(t, some)
	some, err = mpi.Requests(nil).TestSome(nil, nil)
	require.NoError(t, err)
	assert.Empty(t, some)
}

// TestWaits: any, some and all, in the order in which messages arrive.
func TestWaits(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s := p.Self()
		reqs := posted(s, 4)
		_, _, done, err := reqs.TestAny()
		require.NoError(t, err)
		assert.False(t, done)
		_, _, err = reqs.WaitAny(ended())
		assert.Error(t, err)

		give(t, s, 2)
		st, done, err := reqs[4].Peek()
		require.NoError(t, err)
		assert.True(t, done)
		assert.Equal(t, 2, st.Tag)
		i, st, err := reqs.WaitAny(bg)
		require.NoError(t, err)
		assert.Equal(t, 4, i)
		assert.Equal(t, 2, st.Tag)
		i, _, done, err = reqs.TestAny()
		require.NoError(t, err)
		assert.False(t, done, "request %d", i)

		give(t, s, 0, 3)
		statuses := make([]mpi.Status, 8)
		statuses[6].Err = assert.AnError
		some, err := reqs.WaitSome(t.Context(), []int{-7}, statuses)
		require.NoError(t, err)
		assert.Equal(t, []int{-7, 0, 6}, some)
		assert.Equal(t, mpi.Status{Tag: 3, Bytes: 8}, statuses[6])
		some, err = reqs.TestSome(some[:0], statuses)
		require.NoError(t, err)
		assert.Empty(t, some)
		done, err = reqs.TestAll(nil)
		require.NoError(t, err)
		assert.False(t, done)
		assert.Error(t, reqs.WaitAll(ended(), nil))

		give(t, s, 1)
		require.NoError(t, reqs.WaitAll(t.Context(), statuses))
		assert.Equal(t, 1, statuses[2].Tag)
		assert.Equal(t, mpi.AnyTag, statuses[0].Tag, "it had ended before")
		done, err = reqs.TestAll(statuses)
		require.NoError(t, err)
		assert.True(t, done)
	})
}

// TestWaitsFail: if some requests fail, the class is ErrInStatus, and each has its own error.
func TestWaitsFail(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s := p.Self()
		post := func() mpi.Requests {
			reqs := posted(s, 2)
			require.NoError(t, s.Send(bg, mpi.Slice([]int{1, 2}), 0, 1)) // too long
			give(t, s, 0)
			return reqs
		}
		statuses := make([]mpi.Status, 4)
		wrong := func(err error) {
			t.Helper()
			fails(t, err, mpi.ErrInStatus, "request 2")
			require.ErrorIs(t, err, mpi.ErrTruncate)
			require.NoError(t, statuses[0].Err)
			require.ErrorIs(t, statuses[2].Err, mpi.ErrTruncate)
			assert.Equal(t, 1, statuses[2].Tag)
			assert.Equal(t, 16, statuses[2].Bytes)
			clear(statuses)
		}
		wrong(post().WaitAll(t.Context(), statuses))
		done, err := post().TestAll(statuses)
		assert.True(t, done)
		wrong(err)
		some, err := post().WaitSome(t.Context(), nil, statuses)
		assert.Equal(t, []int{0, 2}, some)
		wrong(err)
		fails(t, mpi.WaitAll(bg, post()...), mpi.ErrInStatus, "request 2")
		reqs := post()
		_, err = reqs[0].Wait(bg)
		require.NoError(t, err)
		i, _, err := reqs.WaitAny(bg)
		assert.Equal(t, 2, i)
		fails(t, err, mpi.ErrTruncate, "")
	})
}

// TestCancelAndFree: a cancelled receive takes no message, a freed one does.
func TestCancelAndFree(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s, x := p.Self(), []int{0}
		r := s.Irecv(mpi.Slice(x), 0, 1)
		require.NoError(t, r.Cancel())
		st, err := r.Wait(bg)
		require.NoError(t, err)
		assert.True(t, st.Cancelled)
		r = s.Irecv(mpi.Slice([]int{0}), 0, 1)
		require.NoError(t, r.Free())
		fails(t, r.Free(), mpi.ErrRequest, "")
		give(t, s, 1, 1)
		_, err = s.Recv(bg, mpi.Slice(x), 0, 1)
		require.NoError(t, err)
		_, there, err := s.Iprobe(0, 1)
		require.NoError(t, err)
		assert.False(t, there, "the freed receive had the first message")

		sent := s.Isend(mpi.Slice(x), 0, 2, mpi.Synchronous)
		require.NoError(t, sent.Cancel())
		st, err = sent.Wait(bg)
		require.NoError(t, err)
		assert.True(t, st.Cancelled)
	})
}

// TestRequestsOfTwoProcesses: they cannot be waited for together, because each process has its own
// engine.
func TestRequestsOfTwoProcesses(t *testing.T) {
	requests := make(chan mpi.Request, 2)
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		r := p.Self().Irecv(mpi.Slice([]int{0}), 0, 1)
		requests <- r
		require.NoError(t, p.World().Barrier(bg))
		if p.World().Rank() == 0 {
			a, b := <-requests, <-requests
			fails(t, mpi.WaitAll(bg, a, b), mpi.ErrRequest, "several processes")
		}
		require.NoError(t, p.World().Barrier(bg))
		require.NoError(t, r.Cancel())
		_, err := r.Wait(bg)
		require.NoError(t, err)
	})
}

// TestRequestsThatCouldNotBegin: each has ended with its error, which one call reports, also to the
// error handler.
func TestRequestsThatCouldNotBegin(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s, handled := p.Self(), 0
		require.NoError(t, s.SetErrorHandler(func(*mpi.Comm, error) { handled++ }))
		for how, bad := range map[string]func() mpi.Request{
			"plain":      func() mpi.Request { return s.Isend(mpi.Slice([]int{1}), 7, 0) },
			"persistent": func() mpi.Request { return s.Irecv(mpi.Slice([]int{1}), 7, 0, mpi.Persistent) },
			"collective": func() mpi.Request { return s.Ibcast(mpi.InPlace, 7) },
			"nobody's":   func() mpi.Request { return (*mpi.Comm)(nil).Isend(mpi.Slice([]int{1}), 0, 0) },
		} {
			t.Run(how, func(t *testing.T) {
				handled = 0
				seen := reports(t, s, bad)
				if how == "nobody's" { // only what also concerns other requests
					seen = 6
				}
				assert.Equal(t, seen, handled)
			})
		}
	})
}

// reports passes requests that could not begin to every call. It returns how many calls report an
// error.
func reports(t *testing.T, s *mpi.Comm, bad func() mpi.Request) (errors int) {
	wrong := func(err error) {
		t.Helper()
		errors++
		require.Error(t, err)
		require.Contains(t, []mpi.ErrorClass{mpi.ErrRank, mpi.ErrRoot, mpi.ErrComm}, errclass.Of(err))
	}
	again := func(r mpi.Request) {
		t.Helper()
		assert.NotEqual(t, mpi.Request{}, r)
		st, err := r.Wait(bg)
		require.NoError(t, err, "it has been reported")
		assert.Equal(t, mpi.Status{Source: mpi.AnySource, Tag: mpi.AnyTag}, st)
		_, done, err := r.Peek()
		require.NoError(t, err)
		assert.True(t, done)
	}
	statuses := make([]mpi.Status, 3)
	mixed := func() mpi.Requests { // the receive can end
		give(t, s, 0)
		return mpi.Requests{s.Irecv(mpi.Slice([]int{0}), 0, 0), {}, bad()}
	}
	some := func(reqs mpi.Requests, err error) {
		t.Helper()
		fails(t, err, mpi.ErrInStatus, "request 2")
		require.NoError(t, statuses[0].Err)
		assert.Equal(t, 8, statuses[0].Bytes)
		wrong(statuses[2].Err)
		clear(statuses)
		require.NoError(t, reqs.WaitAll(bg, statuses))
		require.NoError(t, statuses[2].Err)
		again(reqs[2])
	}

	r := bad()
	_, err := r.Wait(bg)
	wrong(err)
	again(r)
	r = bad()
	_, done, err := r.Peek()
	assert.True(t, done)
	wrong(err)
	_, done, err = r.Test()
	assert.True(t, done)
	wrong(err)
	again(r)

	reqs := mixed()
	some(reqs, reqs.WaitAll(bg, statuses))
	reqs = mixed()
	done, err = reqs.TestAll(statuses)
	assert.True(t, done)
	some(reqs, err)
	reqs = mixed()
	ended, err := reqs.WaitSome(bg, nil, statuses)
	assert.Equal(t, []int{0, 2}, ended)
	some(reqs, err)
	reqs = mixed()
	ended, err = reqs.TestSome(nil, statuses)
	assert.Equal(t, []int{0, 2}, ended)
	some(reqs, err)

	waits := s.Irecv(mpi.Slice([]int{0}), 0, 1)
	reqs = mpi.Requests{waits, bad(), {}}
	i, _, err := reqs.WaitAny(bg)
	assert.Equal(t, 1, i)
	wrong(err)
	_, _, done, err = reqs.TestAny()
	require.NoError(t, err)
	assert.False(t, done)
	reqs[1] = bad()
	i, _, done, err = reqs.TestAny()
	assert.True(t, done)
	assert.Equal(t, 1, i)
	wrong(err)
	again(reqs[1])
	require.NoError(t, waits.Cancel())
	_, err = waits.Wait(bg)
	require.NoError(t, err)

	r = bad()
	wrong(r.Start())
	require.NoError(t, r.Cancel())
	_, err = r.Wait(bg)
	wrong(err)
	again(r)
	r = bad()
	require.NoError(t, r.Free())
	again(r)
	return errors
}

// TestStatusErr: only calls on several requests set it.
func TestStatusErr(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s := p.Self()
		short := func() mpi.Request {
			require.NoError(t, s.Send(bg, mpi.Slice([]int{1, 2}), 0, 0))
			return s.Irecv(mpi.Slice([]int{0}), 0, 0)
		}
		st, err := short().Wait(bg)
		fails(t, err, mpi.ErrTruncate, "")
		assert.NoError(t, st.Err)
		st, _, err = short().Test()
		fails(t, err, mpi.ErrTruncate, "")
		assert.NoError(t, st.Err)
		_, st, err = mpi.Requests{short()}.WaitAny(bg)
		fails(t, err, mpi.ErrTruncate, "")
		assert.NoError(t, st.Err)
		statuses := []mpi.Status{{}, {Err: assert.AnError}}
		some, err := mpi.Requests{short(), {}}.TestSome(nil, statuses)
		assert.Equal(t, []int{0}, some)
		fails(t, err, mpi.ErrInStatus, "request 0")
		fails(t, statuses[0].Err, mpi.ErrTruncate, "")
		assert.Equal(t, assert.AnError, statuses[1].Err, "it was not among the ended")
	})
}
