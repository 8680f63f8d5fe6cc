package mpi_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestSynchronous: a synchronous send does not end before its receive has begun.
func TestSynchronous(t *testing.T) {
	mpitest.Over(t, everyMethod, func(t *testing.T, o mpitest.Options) {
		mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
			w, x := p.World(), []int{0}
			if w.Rank() == 0 {
				r, err := mpi.Issend(w, []int{7}, 1, 1)
				require.NoError(t, err)
				require.NoError(t, mpi.Send(w, []int{8}, 1, 2)) // it is received after the first arrived
				_, err = mpi.Recv(w, x, 1, 3)
				require.NoError(t, err)
				_, done, err := r.Test()
				require.NoError(t, err)
				assert.False(t, done, "nobody has received it")
				require.NoError(t, mpi.Send(w, x, 1, 4))
				_, err = r.Wait()
				require.NoError(t, err)
				require.NoError(t, mpi.Ssend(w, []int{9}, 1, 5))
				return
			}
			for _, tag := range []int{2, 4, 1, 5} {
				if tag == 4 {
					require.NoError(t, mpi.Send(w, x, 0, 3))
				}
				_, err := mpi.Recv(w, x, 0, tag)
				require.NoError(t, err)
			}
			assert.Equal(t, 9, x[0])
		})
	})
}

// TestReady sends to a receive that is known to be posted.
func TestReady(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w, x := p.World(), []int{0}
		if w.Rank() == 0 {
			_, err := mpi.Recv(w, x, 1, 1)
			require.NoError(t, err)
			require.NoError(t, mpi.Rsend(w, []int{5}, 1, 2))
			r, err := mpi.Irsend(w, []int{6}, 1, 3)
			require.NoError(t, err)
			_, err = r.Wait()
			require.NoError(t, err)
			return
		}
		y := []int{0}
		a, err := mpi.Irecv(w, x, 0, 2)
		require.NoError(t, err)
		b, err := mpi.Irecv(w, y, 0, 3)
		require.NoError(t, err)
		require.NoError(t, mpi.Send(w, x, 0, 1))
		require.NoError(t, mpi.WaitAll(a, b))
		assert.Equal(t, []int{5, 6}, []int{x[0], y[0]})
	})
}

// TestBuffered: a buffered send returns although no receive is posted, as long as there is room.
func TestBuffered(t *testing.T) {
	mpitest.Over(t, everyMethod, func(t *testing.T, o mpitest.Options) {
		mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
			w, length := p.World(), 50_000 // each is too long to be sent without a receive
			if w.Rank() == 1 {
				xs := make([]int32, length)
				_, err := mpi.Recv(w, xs, 0, 99)
				require.NoError(t, err)
				for tag := range 5 {
					_, err := mpi.Recv(w, xs, 0, tag)
					require.NoError(t, err)
					assert.Equal(t, int32(tag), xs[length-1])
				}
				return
			}
			each := 4*length + mpi.BsendOverhead
			mem := make([]byte, 3*each)
			require.NoError(t, p.AttachBuffer(mem))
			fails(t, p.AttachBuffer(mem), mpi.ErrBuffer, "attached already")
			xs := make([]int32, length)
			buffered(t, w, xs, 0)
			buffered(t, w, xs, 1)
			r, err := mpi.Ibsend(w, fill(xs, 2), 1, 2)
			require.NoError(t, err)
			_, done, err := r.Test()
			require.NoError(t, err)
			assert.True(t, done)
			fails(t, mpi.Bsend(w, xs, 1, 3), mpi.ErrBuffer, "3 messages wait")

			require.NoError(t, w.AttachBufferAutomatic())
			buffered(t, w, xs, 3)
			fails(t, p.FlushBuffer(ended()), mpi.ErrBuffer, "not been sent")
			fails(t, w.FlushBuffer(ended()), mpi.ErrBuffer, "not been sent")
			_, err = w.DetachBuffer(ended())
			fails(t, err, mpi.ErrBuffer, "not been sent")

			require.NoError(t, mpi.Send(w, xs, 1, 99))
			none, err := w.DetachBuffer(t.Context())
			require.NoError(t, err)
			assert.Nil(t, none)
			require.NoError(t, p.FlushBuffer(t.Context()))
			buffered(t, w, xs, 4)
			got, err := p.DetachBuffer(t.Context())
			require.NoError(t, err)
			assert.Same(t, &mem[0], &got[0])
			assert.Len(t, got, len(mem))
			_, err = p.DetachBuffer(t.Context())
			fails(t, err, mpi.ErrBuffer, "no buffer is attached")
			fails(t, p.FlushBuffer(t.Context()), mpi.ErrBuffer, "no buffer is attached")
		})
	})
}

// buffered sends xs filled with the tag, and overwrites xs afterwards.
func buffered(t *testing.T, w *mpi.Comm, xs []int32, tag int) {
	t.Helper()
	require.NoError(t, mpi.Bsend(w, fill(xs, tag), 1, tag))
	fill(xs, -1)
}

func fill(xs []int32, with int) []int32 {
	for i := range xs {
		xs[i] = int32(with)
	}
	return xs
}

// ended returns a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	cancel()
	return ctx
}

// TestPersistent starts requests again and again.
func TestPersistent(t *testing.T) {
	mpitest.Over(t, everyMethod, func(t *testing.T, o mpitest.Options) {
		mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
			w, out, in := p.World(), []int{0}, []int{0}
			require.NoError(t, p.AttachBuffer(make([]byte, 1000)))
			send := mpi.SendInit[int]
			for i, init := range []func(*mpi.Comm, []int, int, int) (mpi.Request, error){send, mpi.SsendInit[int], mpi.BsendInit[int], mpi.RsendInit[int]} {
				s, err := init(w, out, 1-w.Rank(), i)
				require.NoError(t, err)
				r, err := mpi.RecvInit(w, in, 1-w.Rank(), i)
				require.NoError(t, err)
				st, done, err := r.Test()
				require.NoError(t, err)
				assert.True(t, done, "what is inactive need not be waited for")
				assert.Equal(t, mpi.AnySource, st.Source)
				for round := range 5 {
					out[0], in[0] = 10*i+round, -1
					require.NoError(t, mpi.StartAll(r, s))
					if i != 2 { // a buffered send has ended when it is started
						fails(t, r.Start(), mpi.ErrRequest, "active")
					}
					require.NoError(t, mpi.WaitAll(s, r))
					assert.Equal(t, 10*i+round, in[0])
				}
				require.NoError(t, s.Free())
				require.NoError(t, r.Free())
				fails(t, s.Free(), mpi.ErrRequest, "")
				fails(t, s.Start(), mpi.ErrRequest, "")
				fails(t, r.Start(), mpi.ErrRequest, "")
			}
			_, err := p.DetachBuffer(t.Context())
			require.NoError(t, err)
			x, err := mpi.Irecv(w, in, w.Rank(), 0)
			require.NoError(t, err)
			fails(t, x.Start(), mpi.ErrRequest, "persistent")
			require.NoError(t, x.Cancel())
			_, err = x.Wait()
			require.NoError(t, err)
		})
	})
}
