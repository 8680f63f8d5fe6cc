package mpi_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestThreads: many goroutines of a process send, receive, probe and wait at once
// (MPI_THREAD_MULTIPLE), each with a tag of its own.
func TestThreads(t *testing.T) {
	talkers := 8
	if testing.Short() {
		talkers = 3
	}
	mpitest.Over(t, everyMethod, func(t *testing.T, o mpitest.Options) {
		mpitest.Run(t, 3, o, func(t *testing.T, p *mpi.Process) {
			var goroutines sync.WaitGroup
			for tag := range talkers {
				goroutines.Go(func() { chat(t, p.World(), tag) })
			}
			goroutines.Wait()
		})
	})
}

// chat passes messages around a ring, each time with another call.
func chat(t *testing.T, w *mpi.Comm, tag int) {
	next, before := (w.Rank()+1)%w.Size(), (w.Rank()+w.Size()-1)%w.Size()
	for round := range 20 {
		length := []int{1, 10, 3000, 20_000}[round%4]
		out, in := make([]int32, length), make([]int32, length)
		out[length-1] = int32(1000*w.Rank() + round)
		s := w.Isend(mpi.Slice(out), next, tag)
		var err error
		switch round % 3 {
		case 0:
			_, err = w.Recv(bg, mpi.Slice(in), before, tag)
		case 1:
			var m *mpi.Message
			m, _, err = w.Mprobe(bg, mpi.AnySource, tag)
			if err == nil {
				_, err = m.Recv(bg, mpi.Slice(in))
			}
		default:
			r := w.Irecv(mpi.Slice(in), mpi.AnySource, tag)
			for done := false; err == nil && !done; {
				_, done, err = r.Test()
			}
		}
		if !assert.NoError(t, err) || !assert.NoError(t, mpi.WaitAll(bg, s)) || !assert.Equal(t, int32(1000*before+round), in[length-1]) {
			return
		}
	}
}

// TestRecvContext: a receive that was given up takes no message.
func TestRecvContext(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s, x := p.Self(), []int{0}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := s.Recv(ctx, mpi.Slice(x), 0, 1)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		give(t, s, 1)
		st, err := s.Recv(t.Context(), mpi.Slice(x), 0, 1)
		require.NoError(t, err)
		assert.Equal(t, 1, st.Tag)
		assert.Equal(t, 1, x[0])
		_, err = s.Recv(ctx, mpi.Slice(x), 9, 1)
		fails(t, err, mpi.ErrRank, "9")
		give(t, s, 1)
		_, err = s.Recv(ctx, mpi.Slice(x), 0, 1)
		require.NoError(t, err, "the message was there before anybody asked for it")
	})
}
