package mpi_test

import (
	"context"
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
	req := w.Isend(mpi.Slice(out), next, length)
	st, err := w.Recv(bg, mpi.Slice(in), before, length)
	require.NoError(t, err)
	assert.Equal(t, before, st.Source)
	assert.Equal(t, length, st.Tag)
	require.Equal(t, length, mpi.GetCount[int32](st))
	same(t, numbers.slice(before, 0, length), in[:length], "message")
	_, err = req.Wait(bg)
	require.NoError(t, err)
}

// TestSendTakenBack: a send whose context ends before a receive takes the message back, and a later
// receive gets the next message.
func TestSendTakenBack(t *testing.T) {
	mpitest.Over(t, everyMethod, func(t *testing.T, o mpitest.Options) {
		there := make(chan struct{})
		mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
			w, none := p.World(), mpi.Slice([]int{})
			for _, c := range []struct {
				length int
				how    []mpi.Mode
			}{{1, []mpi.Mode{mpi.Synchronous}}, {200_000, []mpi.Mode{mpi.Synchronous}}, {200_000, nil}, {200_000, []mpi.Mode{mpi.Ready}}} {
				xs := make([]int32, c.length)
				if w.Rank() == 0 {
					ctx, cancel := context.WithCancel(t.Context())
					go func() {
						<-there
						cancel()
					}()
					require.ErrorIs(t, w.Send(ctx, mpi.Slice(fill(xs, 1)), 1, 1, c.how...), context.Canceled)
					require.NoError(t, w.Send(bg, none, 1, 2))
					require.NoError(t, w.Send(t.Context(), mpi.Slice(fill(xs, 2)), 1, 1, c.how...))
					continue
				}
				_, err := w.Probe(bg, 0, 1)
				require.NoError(t, err)
				there <- struct{}{}
				_, err = w.Recv(bg, none, 0, 2)
				require.NoError(t, err)
				_, err = w.Recv(bg, mpi.Slice(xs), 0, 1)
				require.NoError(t, err)
				assert.EqualValues(t, 2, xs[c.length-1], "%d numbers, %v", c.length, c.how)
			}
		})
	})
}

// TestSendAfterTheEnd: a context that has ended before a send stops only what cannot be done at
// once.
func TestSendAfterTheEnd(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s, x := p.Self(), []int{0}
		require.ErrorIs(t, s.Send(ended(), mpi.Slice(x), 0, 1, mpi.Synchronous), context.DeadlineExceeded)
		_, there, err := s.Iprobe(0, 1)
		require.NoError(t, err)
		assert.False(t, there)
		r := s.Irecv(mpi.Slice(x), 0, 1)
		require.NoError(t, s.Send(ended(), mpi.Slice([]int{5}), 0, 1, mpi.Synchronous))
		_, err = r.Wait(bg)
		require.NoError(t, err)
		assert.Equal(t, 5, x[0])
	})
}
