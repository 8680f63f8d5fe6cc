package mpi_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// fails checks the class of an error, and a part of its text.
func fails(t *testing.T, err error, class mpi.ErrorClass, tells string) {
	t.Helper()
	require.ErrorIs(t, err, class)
	assert.Equal(t, class, mpi.ClassOf(err))
	assert.ErrorContains(t, err, tells)
	var e *mpi.Error
	assert.ErrorAs(t, err, &e)
}

// TestBadArguments: each bad argument is refused at once with its class and a sentence.
func TestBadArguments(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w, xs := p.World(), make([]int, 4)
		peer := 1 - w.Rank()

		fails(t, mpi.Send(w, xs, 2, 0), mpi.ErrRank, "rank 2 is not in the communicator, which has 0 to 1")
		fails(t, mpi.Ssend(w, xs, -3, 0), mpi.ErrRank, "rank -3")
		fails(t, mpi.Rsend(w, xs, mpi.AnySource, 0), mpi.ErrRank, "AnySource")
		fails(t, mpi.Send(w, xs, peer, -1), mpi.ErrTag, "AnyTag")
		fails(t, mpi.Send(w, xs, peer, mpi.TagUB+1), mpi.ErrTag, "tag 268435456 is not in 0 to 268435455")
		fails(t, mpi.Send(w, xs, peer, -2), mpi.ErrTag, "tag -2")
		fails(t, mpi.Send[int](nil, xs, peer, 0), mpi.ErrComm, "nil")
		fails(t, mpi.Send(w, []string{"a"}, peer, 0), mpi.ErrType, "string")
		fails(t, mpi.Send(w, []*int{nil}, peer, 0), mpi.ErrType, "")
		fails(t, mpi.Bsend(w, xs, peer, 0), mpi.ErrBuffer, "AttachBuffer")

		_, err := mpi.Recv(w, xs, 2, 0)
		fails(t, err, mpi.ErrRank, "rank 2")
		_, err = mpi.Recv(w, xs, peer, -2)
		fails(t, err, mpi.ErrTag, "tag -2")
		_, err = mpi.Irecv(w, make([]map[int]int, 1), peer, 0)
		fails(t, err, mpi.ErrType, "map")
		_, err = mpi.Isend(w, xs, 17, 0)
		fails(t, err, mpi.ErrRank, "17")
		_, err = mpi.Ibsend(w, xs, 17, 0)
		fails(t, err, mpi.ErrRank, "17")
		_, err = mpi.SendInit(w, xs, 17, 0)
		fails(t, err, mpi.ErrRank, "17")
		_, err = mpi.RecvInit(w, xs, 0, -7)
		fails(t, err, mpi.ErrTag, "-7")
		_, err = mpi.Sendrecv(w, xs, peer, 0, xs, 9, 0)
		fails(t, err, mpi.ErrRank, "9")
		_, err = mpi.SendrecvReplace(w, xs, 9, 0, peer, 0)
		fails(t, err, mpi.ErrRank, "9")
		_, err = w.Probe(2, 0)
		fails(t, err, mpi.ErrRank, "2")
		_, _, err = w.Iprobe(0, -9)
		fails(t, err, mpi.ErrTag, "-9")
		_, _, err = w.Mprobe(-9, 0)
		fails(t, err, mpi.ErrRank, "-9")
		_, _, _, err = w.Improbe(-9, 0)
		fails(t, err, mpi.ErrRank, "-9")
		_, err = mpi.Mrecv(nil, xs)
		fails(t, err, mpi.ErrRequest, "nil")
		_, err = mpi.Imrecv(nil, xs)
		fails(t, err, mpi.ErrRequest, "nil")
		fails(t, w.SetName(string(make([]byte, 129))), mpi.ErrArg, "129 bytes")

		var none mpi.Request
		fails(t, none.Start(), mpi.ErrRequest, "null")
		fails(t, none.Cancel(), mpi.ErrRequest, "null")
		fails(t, none.Free(), mpi.ErrRequest, "null")
		fails(t, mpi.WaitAllContext(context.Background(), []mpi.Request{none}, nil, make([]error, 2)), mpi.ErrArg, "2 errors for 1 requests")
		_, err = mpi.TestAll([]mpi.Request{none}, make([]mpi.Status, 2), nil)
		fails(t, err, mpi.ErrArg, "2 statuses for 1 requests")
	})
}

// TestBadBuffers: elements outside of the memory, and invalid types.
func TestBadBuffers(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s, mem := p.Self(), make([]byte, 100)
		_, err := mpi.Typed(mem, 0, 13, datatype.Int64)
		fails(t, err, mpi.ErrBuffer, "")
		_, err = mpi.Typed(mem, -8, 1, datatype.Int64)
		fails(t, err, mpi.ErrBuffer, "")
		_, err = mpi.Typed(mem, 0, -1, datatype.Int64)
		fails(t, err, mpi.ErrCount, "-1")
		_, err = mpi.Typed(mem, 0, 1, nil)
		fails(t, err, mpi.ErrType, "nil")

		bad := mpi.Buffer{Mem: mem, Type: datatype.Int64, Count: 13}
		fails(t, s.SendBuffer(bad, 0, 0), mpi.ErrBuffer, "")
		_, err = s.RecvBuffer(bad, 0, 0)
		fails(t, err, mpi.ErrBuffer, "")
		_, err = s.SendrecvReplaceBuffer(bad, 0, 0, 0, 0)
		fails(t, err, mpi.ErrBuffer, "")
		bad = mpi.Buffer{Mem: mem, Type: datatype.Int64, Count: -1}
		fails(t, s.SendBuffer(bad, 0, 0), mpi.ErrCount, "-1")

		overlapping, err := datatype.Hvector(10, 8, 1, datatype.Byte)
		require.NoError(t, err)
		twice, err := mpi.Typed(mem, 0, 1, overlapping)
		require.NoError(t, err)
		_, err = s.RecvBuffer(twice, 0, 0)
		fails(t, err, mpi.ErrType, "twice")
		_, err = s.IrecvBuffer(twice, 0, 0)
		fails(t, err, mpi.ErrType, "twice")
	})
}

// TestFreedTwice: a freed communicator cannot be used.
func TestFreedTwice(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		c, err := p.World().Dup()
		require.NoError(t, err)
		require.NoError(t, c.Free())
		fails(t, c.Free(), mpi.ErrComm, "freed")
		fails(t, mpi.Send(c, []int{1}, 0, 0), mpi.ErrComm, "freed")
		_, err = mpi.Irecv(c, []int{1}, 0, 0)
		fails(t, err, mpi.ErrComm, "freed")
		_, err = c.Probe(0, 0)
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
					require.NoError(t, mpi.Send(w, xs, 1, 1))
					require.NoError(t, mpi.Send(w, xs[:2], 1, 1))
					continue
				}
				short := make([]int64, length/2+1)
				short[length/2] = -1
				st, err := mpi.Recv(w, short[:length/2], 0, 1)
				fails(t, err, mpi.ErrTruncate, "")
				assert.Equal(t, 0, st.Source)
				assert.Equal(t, int64(length/2-1), short[length/2-1])
				assert.Equal(t, int64(-1), short[length/2], "beyond the buffer")
				st, err = mpi.Recv(w, short, 0, 1)
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
		dup, err := w.Dup()
		require.NoError(t, err)
		want := []error{mpi.Send(w, []int{1}, 5, 0), mpi.Send(dup, []int{1}, 6, 0), mpi.Send(w, []string{""}, 0, 0)}
		_, err = w.Probe(0, -5)
		want = append(want, err)
		own := errors.New("the program's own")
		require.Same(t, own, w.CallErrorHandler(own))
		want = append(want, own)
		assert.Equal(t, want, seen)

		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r, err := mpi.Irecv(w, []int{1}, 0, 0)
		require.NoError(t, err)
		_, err = r.WaitContext(ctx)
		require.ErrorIs(t, err, context.Canceled)
		assert.Len(t, seen, len(want), "that somebody does not wait any longer is no error")
		require.NoError(t, r.Cancel())
		st, err := r.Wait()
		require.NoError(t, err)
		assert.True(t, st.Cancelled)

		require.NoError(t, w.SetErrorHandler(nil))
		assert.Error(t, mpi.Send(w, []int{1}, 5, 0))
		assert.Len(t, seen, len(want))
		require.NoError(t, dup.Free())
	})
}

// TestErrorsAreFatal: an error aborts the job.
func TestErrorsAreFatal(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{Leave: true}, func(t *testing.T, p *mpi.Process) {
		require.NoError(t, mpi.Barrier(p.World()))
		if p.World().Rank() == 0 {
			require.NoError(t, p.World().SetErrorHandler(mpi.ErrorsAreFatal))
			assert.Error(t, mpi.Send(p.World(), []int{1}, 5, 0))
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
		fails(t, mpi.Send(p.World(), []int{1}, 0, 0), mpi.ErrOther, "Finalize")
		_, err := mpi.Recv(p.Self(), []int{1}, 0, 0)
		fails(t, err, mpi.ErrOther, "Finalize")
		_, err = p.World().Dup()
		fails(t, err, mpi.ErrOther, "Finalize")
	})
}

// TestFinalizeWithPendingRequests: they end, and Finalize says so.
func TestFinalizeWithPendingRequests(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{Leave: true}, func(t *testing.T, p *mpi.Process) {
		r, err := mpi.Irecv(p.World(), make([]int, 1), mpi.AnySource, 3)
		require.NoError(t, err)
		s, err := mpi.Issend(p.World(), make([]int, 100_000), 1-p.World().Rank(), 4)
		require.NoError(t, err)
		fails(t, p.Finalize(t.Context()), mpi.ErrPending, "1 receives and 1 sends")
		_, err = r.Wait()
		assert.Error(t, err)
		_, err = s.Wait()
		assert.Error(t, err)
	})
}
