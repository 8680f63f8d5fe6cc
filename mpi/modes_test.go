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
				r := w.Isend(mpi.Slice([]int{7}), 1, 1, mpi.Synchronous)
				require.NoError(t, w.Send(bg, mpi.Slice([]int{8}), 1, 2)) // it is received after the first arrived
				_, err := w.Recv(bg, mpi.Slice(x), 1, 3)
				require.NoError(t, err)
				_, done, err := r.Test()
				require.NoError(t, err)
				assert.False(t, done, "nobody has received it")
				require.NoError(t, w.Send(bg, mpi.Slice(x), 1, 4))
				_, err = r.Wait(bg)
				require.NoError(t, err)
				require.NoError(t, w.Send(bg, mpi.Slice([]int{9}), 1, 5, mpi.Synchronous))
				return
			}
			for _, tag := range []int{2, 4, 1, 5} {
				if tag == 4 {
					require.NoError(t, w.Send(bg, mpi.Slice(x), 0, 3))
				}
				_, err := w.Recv(bg, mpi.Slice(x), 0, tag)
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
			_, err := w.Recv(bg, mpi.Slice(x), 1, 1)
			require.NoError(t, err)
			require.NoError(t, w.Send(bg, mpi.Slice([]int{5}), 1, 2, mpi.Ready))
			r := w.Isend(mpi.Slice([]int{6}), 1, 3, mpi.Ready)
			_, err = r.Wait(bg)
			require.NoError(t, err)
			return
		}
		y := []int{0}
		a := w.Irecv(mpi.Slice(x), 0, 2)
		b := w.Irecv(mpi.Slice(y), 0, 3)
		require.NoError(t, w.Send(bg, mpi.Slice(x), 0, 1))
		require.NoError(t, mpi.WaitAll(bg, a, b))
		assert.Equal(t, []int{5, 6}, []int{x[0], y[0]})
	})
}

// TestBuffered: a buffered send returns although no receive is posted, as long as there is room.
func TestBuffered(t *testing.T) {
	mpitest.Over(t, everyMethod, func(t *testing.T, o mpitest.Options) {
		mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
			w, length := p.World(), 50_000 // each is too long to be sent without a receive
			c, err := w.Dup(bg)
			require.NoError(t, err)
			if w.Rank() == 1 {
				xs := make([]int32, length)
				_, err := w.Recv(bg, mpi.Slice(xs), 0, 99)
				require.NoError(t, err)
				for tag := range 5 {
					_, err := c.Recv(bg, mpi.Slice(xs), 0, tag)
					require.NoError(t, err)
					assert.Equal(t, int32(tag), xs[length-1])
				}
				return
			}
			each := 4*length + mpi.BsendOverhead
			mem := make([]byte, 3*each)
			require.NoError(t, w.AttachBuffer(mem)) // serves c, too
			fails(t, w.AttachBuffer(mem), mpi.ErrBuffer, "attached already")
			xs := make([]int32, length)
			buffered(t, c, xs, 0)
			buffered(t, c, xs, 1)
			r := c.Isend(mpi.Slice(fill(xs, 2)), 1, 2, mpi.Buffered)
			_, done, err := r.Test()
			require.NoError(t, err)
			assert.True(t, done)
			fails(t, c.Send(bg, mpi.Slice(xs), 1, 3, mpi.Buffered), mpi.ErrBuffer, "3 messages wait")

			require.NoError(t, c.AttachBuffer(nil))
			buffered(t, c, xs, 3)
			fails(t, w.FlushBuffer(ended()), mpi.ErrBuffer, "not been sent")
			fails(t, c.FlushBuffer(ended()), mpi.ErrBuffer, "not been sent")
			_, err = c.DetachBuffer(ended())
			fails(t, err, mpi.ErrBuffer, "not been sent")

			require.NoError(t, w.Send(bg, mpi.Slice(xs), 1, 99))
			none, err := c.DetachBuffer(t.Context())
			require.NoError(t, err)
			assert.Nil(t, none)
			require.NoError(t, w.FlushBuffer(t.Context()))
			buffered(t, c, xs, 4)
			got, err := w.DetachBuffer(t.Context())
			require.NoError(t, err)
			assert.Same(t, &mem[0], &got[0])
			assert.Len(t, got, len(mem))
			_, err = w.DetachBuffer(t.Context())
			fails(t, err, mpi.ErrBuffer, "no buffer is attached")
			fails(t, w.FlushBuffer(t.Context()), mpi.ErrBuffer, "no buffer is attached")
		})
	})
}

// buffered sends xs filled with the tag, and overwrites xs afterwards.
func buffered(t *testing.T, w *mpi.Comm, xs []int32, tag int) {
	t.Helper()
	require.NoError(t, w.Send(bg, mpi.Slice(fill(xs, tag)), 1, tag, mpi.Buffered))
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
			require.NoError(t, w.AttachBuffer(make([]byte, 1000)))
			for i, how := range [][]mpi.Mode{{mpi.Persistent}, {mpi.Synchronous, mpi.Persistent}, {mpi.Persistent, mpi.Buffered}, {mpi.Ready, mpi.Persistent}} {
				s := w.Isend(mpi.Slice(out), 1-w.Rank(), i, how...)
				r := w.Irecv(mpi.Slice(in), 1-w.Rank(), i, mpi.Persistent)
				st, done, err := r.Test()
				require.NoError(t, err)
				assert.True(t, done, "what is inactive need not be waited for")
				assert.Equal(t, mpi.AnySource, st.Source)
				for round := range 5 {
					out[0], in[0] = 10*i+round, -1
					require.NoError(t, mpi.Requests{r, s}.StartAll())
					if i != 2 { // a buffered send has ended when it is started
						fails(t, r.Start(), mpi.ErrRequest, "active")
					}
					require.NoError(t, mpi.WaitAll(bg, s, r))
					assert.Equal(t, 10*i+round, in[0])
				}
				require.NoError(t, s.Free())
				require.NoError(t, r.Free())
				fails(t, s.Free(), mpi.ErrRequest, "")
				fails(t, s.Start(), mpi.ErrRequest, "")
				fails(t, r.Start(), mpi.ErrRequest, "")
			}
			_, err := w.DetachBuffer(t.Context())
			require.NoError(t, err)
			x := w.Irecv(mpi.Slice(in), w.Rank(), 0)
			fails(t, x.Start(), mpi.ErrRequest, "persistent")
			require.NoError(t, x.Cancel())
			_, err = x.Wait(bg)
			require.NoError(t, err)
		})
	})
}

// TestWrongModes: calls refuse modes that are not for them, before anything is sent.
func TestWrongModes(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		s, x := p.Self(), mpi.Value(new(int))
		for _, how := range [][]mpi.Mode{
			{mpi.Persistent}, {mpi.Synchronous, mpi.Persistent}, {mpi.Synchronous, mpi.Ready}, {mpi.Ready, mpi.Buffered}, {mpi.Buffered, mpi.Synchronous}, {0}, {99},
		} {
			fails(t, s.Send(bg, x, 0, 0, how...), mpi.ErrArg, "")
			fails(t, s.Send(t.Context(), x, 0, 0, how...), mpi.ErrArg, "")
		}
		fails(t, s.Send(bg, x, 0, 0, mpi.Persistent), mpi.ErrArg, "persistent")
		for m, name := range map[mpi.Mode]string{mpi.Synchronous: "Synchronous", mpi.Ready: "Ready", mpi.Buffered: "Buffered", 99: "unknown"} {
			_, err := s.Irecv(x, 0, 0, m).Wait(bg)
			fails(t, err, mpi.ErrArg, name)
		}
		fails(t, s.Send(bg, x, 0, 0, 99), mpi.ErrArg, "99")
		for name, begin := range map[string]func(how ...mpi.Mode) mpi.Request{
			"Isend":    func(how ...mpi.Mode) mpi.Request { return s.Isend(x, 0, 0, append(how, mpi.Ready, mpi.Buffered)...) },
			"Irecv":    func(how ...mpi.Mode) mpi.Request { return s.Irecv(x, 0, 0, append(how, mpi.Synchronous)...) },
			"Ibcast":   func(how ...mpi.Mode) mpi.Request { return s.Ibcast(x, 0, append(how, mpi.Ready)...) },
			"Ibarrier": func(how ...mpi.Mode) mpi.Request { return s.Ibarrier(append(how, mpi.Buffered)...) },
			"Iscan":    func(how ...mpi.Mode) mpi.Request { return s.Iscan(x, mpi.Value(new(int)), mpi.Sum, append(how, 0)...) },
		} {
			for _, how := range [][]mpi.Mode{nil, {mpi.Persistent}} {
				_, err := begin(how...).Wait(bg)
				require.ErrorIs(t, err, mpi.ErrArg, name)
				require.ErrorIs(t, begin(how...).Start(), mpi.ErrArg, name)
			}
		}
		_, there, err := s.Iprobe(mpi.AnySource, mpi.AnyTag)
		require.NoError(t, err)
		assert.False(t, there)
		assert.Zero(t, mpi.EngineOf(p).Stats().Posted)

		// To say the same twice is no mistake.
		r := s.Irecv(x, 0, 0, mpi.Persistent, mpi.Persistent)
		require.NoError(t, r.Start())
		require.NoError(t, s.Send(bg, x, 0, 0, mpi.Synchronous, mpi.Synchronous))
		_, err = r.Wait(bg)
		require.NoError(t, err)
	})
}
