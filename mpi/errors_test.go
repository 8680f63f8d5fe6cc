package mpi_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// fails checks the class of an error, and a part of its text.
func fails(t *testing.T, err error, class mpi.ErrorClass, tells string) {
	t.Helper()
	require.ErrorIs(t, err, class)
	assert.Equal(t, class, errclass.Of(err))
	assert.ErrorContains(t, err, tells)
	var e *mpi.Error
	assert.ErrorAs(t, err, &e)
}

// TestBadArguments: each bad argument is refused at once with its class and a sentence.
func TestBadArguments(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w, xs := p.World(), make([]int, 4)
		peer := 1 - w.Rank()

		fails(t, w.Send(bg, mpi.Slice(xs), 2, 0), mpi.ErrRank, "rank 2 is not in the communicator, which has 0 to 1")
		fails(t, w.Send(bg, mpi.Slice(xs), -3, 0, mpi.Synchronous), mpi.ErrRank, "rank -3")
		fails(t, w.Send(bg, mpi.Slice(xs), mpi.AnySource, 0, mpi.Ready), mpi.ErrRank, "AnySource")
		fails(t, w.Send(bg, mpi.Slice(xs), peer, -1), mpi.ErrTag, "AnyTag")
		fails(t, w.Send(bg, mpi.Slice(xs), peer, mpi.TagUB+1), mpi.ErrTag, "tag 268435456 is not in 0 to 268435455")
		fails(t, w.Send(bg, mpi.Slice(xs), peer, -2), mpi.ErrTag, "tag -2")
		fails(t, (*mpi.Comm)(nil).Send(bg, mpi.Slice(xs), peer, 0), mpi.ErrComm, "nil")
		fails(t, w.Send(bg, mpi.Slice([]string{"a"}), peer, 0), mpi.ErrType, "string")
		fails(t, w.Send(bg, mpi.Slice([]*int{nil}), peer, 0), mpi.ErrType, "")
		fails(t, w.Send(bg, mpi.Slice(xs), peer, 0, mpi.Buffered), mpi.ErrBuffer, "AttachBuffer")

		_, err := w.Recv(bg, mpi.Slice(xs), 2, 0)
		fails(t, err, mpi.ErrRank, "rank 2")
		_, err = w.Recv(bg, mpi.Slice(xs), peer, -2)
		fails(t, err, mpi.ErrTag, "tag -2")
		_, err = w.Irecv(mpi.Slice(make([]map[int]int, 1)), peer, 0).Wait(bg)
		fails(t, err, mpi.ErrType, "map")
		_, err = w.Isend(mpi.Slice(xs), 17, 0).Wait(bg)
		fails(t, err, mpi.ErrRank, "17")
		_, err = w.Isend(mpi.Slice(xs), 17, 0, mpi.Buffered).Wait(bg)
		fails(t, err, mpi.ErrRank, "17")
		_, err = w.Isend(mpi.Slice(xs), 17, 0, mpi.Persistent).Wait(bg)
		fails(t, err, mpi.ErrRank, "17")
		_, err = w.Irecv(mpi.Slice(xs), 0, -7, mpi.Persistent).Wait(bg)
		fails(t, err, mpi.ErrTag, "-7")
		_, err = w.Sendrecv(bg, mpi.Slice(xs), peer, 0, mpi.Slice(xs), 9, 0)
		fails(t, err, mpi.ErrRank, "9")
		_, err = w.Sendrecv(bg, mpi.Slice(xs), 9, 0, mpi.InPlace, peer, 0)
		fails(t, err, mpi.ErrRank, "9")
		_, err = w.Probe(bg, 2, 0)
		fails(t, err, mpi.ErrRank, "2")
		_, _, err = w.Iprobe(0, -9)
		fails(t, err, mpi.ErrTag, "-9")
		_, _, err = w.Mprobe(bg, -9, 0)
		fails(t, err, mpi.ErrRank, "-9")
		_, _, _, err = w.Improbe(-9, 0)
		fails(t, err, mpi.ErrRank, "-9")
		_, err = (*mpi.Message)(nil).Recv(bg, mpi.Slice(xs))
		fails(t, err, mpi.ErrRequest, "nil")
		_, err = (*mpi.Message)(nil).Irecv(mpi.Slice(xs)).Wait(bg)
		fails(t, err, mpi.ErrRequest, "nil")
		fails(t, w.SetName(string(make([]byte, 129))), mpi.ErrArg, "129 bytes")

		var none mpi.Request
		fails(t, none.Start(), mpi.ErrRequest, "null")
		fails(t, none.Cancel(), mpi.ErrRequest, "null")
		fails(t, none.Free(), mpi.ErrRequest, "null")
		fails(t, mpi.Requests{none}.WaitAll(bg, make([]mpi.Status, 2)), mpi.ErrArg, "2 statuses for 1 requests")
		_, err = mpi.Requests{none}.TestAll(make([]mpi.Status, 2))
		fails(t, err, mpi.ErrArg, "2 statuses for 1 requests")
	})
}

// TestBadBuffers: elements outside of the memory, and invalid types.
func TestBadBuffers(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s, mem := p.Self(), make([]byte, 100)
		for _, c := range []struct {
			bad   mpi.Buffer
			class mpi.ErrorClass
			tells string
		}{
			{mpi.Typed(mem, 0, 13, datatype.Int64), mpi.ErrBuffer, ""},
			{mpi.Typed(mem, -8, 1, datatype.Int64), mpi.ErrBuffer, ""},
			{mpi.Typed(mem, 0, -1, datatype.Int64), mpi.ErrCount, "-1"},
			{mpi.Typed(mem, 0, 1, nil), mpi.ErrType, "nil"},
			{mpi.Typed([]string{"text"}, 0, 1, datatype.Int64), mpi.ErrType, "string"},
			{mpi.Slice([]string{"text"}), mpi.ErrType, "string"},
			{mpi.Value[int](nil), mpi.ErrBuffer, "nil"},
			{mpi.Value(new(any)), mpi.ErrType, ""},
			{mpi.Slice(mem).Parts([]int{100}, nil), mpi.ErrBuffer, "divided"},
			{mpi.Each(mpi.Slice(mem)), mpi.ErrBuffer, "divided"},
			{mpi.Typed(mem, 0, 13, datatype.Int64).Parts([]int{13}, nil), mpi.ErrBuffer, "13"},
		} {
			refusedBy(t, s, c.bad, c.class, c.tells)
		}
		_, there, err := s.Iprobe(mpi.AnySource, mpi.AnyTag)
		require.NoError(t, err)
		assert.False(t, there)

		overlapping, err := datatype.Hvector(10, 8, 1, datatype.Byte)
		require.NoError(t, err)
		twice := mpi.Typed(mem, 0, 1, overlapping)
		_, err = s.Recv(bg, twice, 0, 0)
		fails(t, err, mpi.ErrType, "twice")
		_, err = s.Irecv(twice, 0, 0).Wait(bg)
		fails(t, err, mpi.ErrType, "twice")
	})
}

// refusedBy passes a bad buffer to every call that takes one in one piece.
func refusedBy(t *testing.T, c *mpi.Comm, bad mpi.Buffer, class mpi.ErrorClass, tells string) {
	t.Helper()
	good := mpi.Value(new(byte))
	fails(t, c.Send(bg, bad, 0, 0), class, tells)
	fails(t, c.Send(t.Context(), bad, 0, 0), class, tells)
	fails(t, c.Bcast(bg, bad, 0), class, tells)
	fails(t, c.Allreduce(bg, bad, good, mpi.Sum), class, tells)
	fails(t, c.Allreduce(bg, good, bad, mpi.Sum), class, tells)
	fails(t, c.Scan(bg, good, bad, mpi.Sum), class, tells)
	fails(t, c.Gather(bg, bad, good, 0), class, tells)
	fails(t, mpi.ReduceLocal(bad, good, mpi.Sum), class, tells)
	_, err := c.Recv(bg, bad, 0, 0)
	fails(t, err, class, tells)
	_, err = c.Sendrecv(bg, bad, 0, 0, mpi.InPlace, 0, 0)
	fails(t, err, class, tells)
	_, err = c.Sendrecv(bg, good, 0, 0, bad, 0, 0)
	fails(t, err, class, tells)
	for _, begin := range []func() mpi.Request{
		func() mpi.Request { return c.Isend(bad, 0, 0) },
		func() mpi.Request { return c.Isend(bad, 0, 0, mpi.Persistent) },
		func() mpi.Request { return c.Irecv(bad, 0, 0) },
		func() mpi.Request { return c.Irecv(bad, 0, 0, mpi.Persistent) },
		func() mpi.Request { return c.Isendrecv(good, 0, 0, bad, 0, 0) },
		func() mpi.Request { return c.Ibcast(bad, 0) },
		func() mpi.Request { return c.Ireduce(bad, good, mpi.Sum, 0, mpi.Persistent) },
	} {
		_, err = begin().Wait(bg)
		fails(t, err, class, tells)
	}
	_, _, _, _, err = bad.Memory()
	fails(t, err, class, tells)
}

// TestFreedTwice: a freed communicator cannot be used.
func TestFreedTwice(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		c, err := p.World().Dup(bg)
		require.NoError(t, err)
		require.NoError(t, c.Free())
		fails(t, c.Free(), mpi.ErrComm, "freed")
		fails(t, c.Send(bg, mpi.Slice([]int{1}), 0, 0), mpi.ErrComm, "freed")
		_, err = c.Irecv(mpi.Slice([]int{1}), 0, 0).Wait(bg)
		fails(t, err, mpi.ErrComm, "freed")
		_, err = c.Probe(bg, 0, 0)
		fails(t, err, mpi.ErrComm, "freed")
		fails(t, c.SetErrorHandler(nil), mpi.ErrComm, "freed")
		fails(t, p.World().Free(), mpi.ErrComm, "MPI_COMM_WORLD")
	})
}

// TestTruncated: a receive that is too short gets the part that fits, and other receives are not
// affected.
func TestTruncated(t *testing.T) {
	mpitest.Over(t, everyMethod, func(t *testing.T, o mpitest.Options) {
		mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			for _, length := range []int{10, 100_000} { // eager, and not
				if w.Rank() == 0 {
					xs := make([]int64, length)
					for i := range xs {
						xs[i] = int64(i)
					}
					require.NoError(t, w.Send(bg, mpi.Slice(xs), 1, 1))
					require.NoError(t, w.Send(bg, mpi.Slice(xs[:2]), 1, 1))
					continue
				}
				short := make([]int64, length/2+1)
				short[length/2] = -1
				st, err := w.Recv(bg, mpi.Slice(short[:length/2]), 0, 1)
				fails(t, err, mpi.ErrTruncate, "")
				assert.Equal(t, 0, st.Source)
				assert.Equal(t, int64(length/2-1), short[length/2-1])
				assert.Equal(t, int64(-1), short[length/2], "beyond the buffer")
				st, err = w.Recv(bg, mpi.Slice(short), 0, 1)
				require.NoError(t, err)
				assert.Equal(t, 2, mpi.GetCount[int64](st))
			}
		})
	})
}

// TestErrorHandlers: a handler sees every error of its communicator before the call returns it, and
// communicators made from it have the same handler.
func TestErrorHandlers(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		assert.Nil(t, w.ErrorHandler())
		var seen []error
		require.NoError(t, w.SetErrorHandler(func(c *mpi.Comm, err error) {
			assert.NotNil(t, c)
			seen = append(seen, err)
		}))
		assert.NotNil(t, w.ErrorHandler())
		dup, err := w.Dup(bg)
		require.NoError(t, err)
		want := []error{w.Send(bg, mpi.Slice([]int{1}), 5, 0), dup.Send(bg, mpi.Slice([]int{1}), 6, 0), w.Send(bg, mpi.Slice([]string{""}), 0, 0)}
		_, err = w.Probe(bg, 0, -5)
		want = append(want, err)
		own := errors.New("the program's own")
		w.ErrorHandler()(w, own)
		want = append(want, own)
		assert.Equal(t, want, seen)

		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r := w.Irecv(mpi.Slice([]int{1}), 0, 0)
		_, err = r.Wait(ctx)
		require.ErrorIs(t, err, context.Canceled)
		assert.Len(t, seen, len(want), "that somebody does not wait any longer is no error")
		require.NoError(t, r.Cancel())
		st, err := r.Wait(bg)
		require.NoError(t, err)
		assert.True(t, st.Cancelled)

		require.NoError(t, w.SetErrorHandler(nil))
		assert.Error(t, w.Send(bg, mpi.Slice([]int{1}), 5, 0))
		assert.Len(t, seen, len(want))
		require.NoError(t, dup.Free())
	})
}

// TestErrorsAreFatal: an error aborts the job.
func TestErrorsAreFatal(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{Leave: true}, func(t *testing.T, p *mpi.Process) {
		require.NoError(t, p.World().Barrier(bg))
		if p.World().Rank() == 0 {
			require.NoError(t, p.World().SetErrorHandler(mpi.ErrorsAreFatal))
			assert.Error(t, p.World().Send(bg, mpi.Slice([]int{1}), 5, 0))
		}
		err := p.Finalize(t.Context())
		fails(t, err, mpi.ErrProcAborted, "exit code 1")
	})
}

// TestUseAfterFinalize: a finalized process cannot communicate.
func TestUseAfterFinalize(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{Leave: true}, func(t *testing.T, p *mpi.Process) {
		require.NoError(t, p.Finalize(t.Context()))
		assert.True(t, p.Finalized())
		fails(t, p.Finalize(t.Context()), mpi.ErrOther, "already")
		fails(t, p.World().Send(bg, mpi.Slice([]int{1}), 0, 0), mpi.ErrOther, "Finalize")
		_, err := p.Self().Recv(bg, mpi.Slice([]int{1}), 0, 0)
		fails(t, err, mpi.ErrOther, "Finalize")
		_, err = p.World().Dup(bg)
		fails(t, err, mpi.ErrOther, "Finalize")
	})
}

// TestFinalizeWithPendingRequests: they end, and Finalize says so.
func TestFinalizeWithPendingRequests(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{Leave: true}, func(t *testing.T, p *mpi.Process) {
		r := p.World().Irecv(mpi.Slice(make([]int, 1)), mpi.AnySource, 3)
		s := p.World().Isend(mpi.Slice(make([]int, 100_000)), 1-p.World().Rank(), 4, mpi.Synchronous)
		fails(t, p.Finalize(t.Context()), mpi.ErrPending, "1 receives and 1 sends")
		_, err := r.Wait(bg)
		assert.Error(t, err)
		_, err = s.Wait(bg)
		assert.Error(t, err)
	})
}
