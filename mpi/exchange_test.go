package mpi_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestSendrecv exchanges in a ring, with different types on both sides.
func TestSendrecv(t *testing.T) {
	mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		next, before := (w.Rank()+1)%3, (w.Rank()+2)%3
		for _, length := range []int{1, 100_000} {
			out, in := make([]uint64, length), make([]byte, 8*length)
			out[length-1] = uint64(w.Rank() + 1)
			st, err := w.Sendrecv(bg, mpi.Slice(out), next, 4, mpi.Slice(in), before, 4)
			require.NoError(t, err)
			assert.Equal(t, before, st.Source)
			assert.Equal(t, length, mpi.GetCount[uint64](st))
			assert.Equal(t, byte(before+1), in[8*length-8])

			st, err = w.Sendrecv(bg, mpi.Slice(out), next, 5, mpi.InPlace, mpi.AnySource, 5)
			require.NoError(t, err)
			assert.Equal(t, before, st.Source)
			assert.Equal(t, uint64(before+1), out[length-1])

			r := w.Isendrecv(mpi.Slice(out), before, 6, mpi.Slice(in), next, 6)
			st, err = r.Wait(bg)
			require.NoError(t, err)
			assert.Equal(t, next, st.Source)
			assert.Equal(t, byte(w.Rank()+1), in[8*length-8])

			r = w.Isendrecv(mpi.Slice(out), before, 7, mpi.InPlace, next, 7)
			_, err = r.Wait(bg)
			require.NoError(t, err)
			assert.Equal(t, uint64(w.Rank()+1), out[length-1])
		}
		short := make([]byte, 2)
		_, err := w.Isendrecv(mpi.Slice(make([]byte, 3)), next, 8, mpi.Slice(short), before, 8).Wait(bg)
		fails(t, err, mpi.ErrTruncate, "")
	})
}

// TestProcNull: messages to and from ProcNull.
func TestProcNull(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w, x := p.World(), []int{5}
		require.NoError(t, w.Send(bg, mpi.Slice(x), mpi.ProcNull, 1))
		require.NoError(t, w.Send(bg, mpi.Slice(x), mpi.ProcNull, 1, mpi.Synchronous))
		none := func(st mpi.Status, err error) {
			t.Helper()
			require.NoError(t, err)
			assert.Equal(t, mpi.ProcNull, st.Source)
			assert.Equal(t, mpi.AnyTag, st.Tag)
			assert.Equal(t, 0, mpi.GetCount[int](st))
			assert.Equal(t, 5, x[0])
		}
		none(w.Recv(bg, mpi.Slice(x), mpi.ProcNull, 1))
		none(w.Sendrecv(bg, mpi.Slice(x), mpi.ProcNull, 1, mpi.Slice(x), mpi.ProcNull, 2))
		none(w.Probe(bg, mpi.ProcNull, mpi.AnyTag))
		r := w.Irecv(mpi.Slice(x), mpi.ProcNull, 1)
		none(r.Wait(bg))
		st, there, err := w.Iprobe(mpi.ProcNull, 1)
		assert.True(t, there)
		none(st, err)
		m, st, err := w.Mprobe(bg, mpi.ProcNull, 1)
		none(st, err)
		none(m.Recv(bg, mpi.Slice(x)))
	})
}

// TestSelf sends to itself.
func TestSelf(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		for _, c := range []*mpi.Comm{p.World(), p.Self()} {
			xs := make([]float64, 50_000)
			r := c.Irecv(mpi.Slice(xs), mpi.AnySource, 1)
			ys := make([]float64, len(xs))
			ys[49_999] = 1.5
			require.NoError(t, c.Send(bg, mpi.Slice(ys), 0, 1))
			_, err := r.Wait(bg)
			require.NoError(t, err)
			assert.Equal(t, ys, xs)
		}
		assert.Equal(t, "MPI_COMM_WORLD", p.World().String())
		assert.Equal(t, "MPI_COMM_SELF", p.Self().String())
		require.NoError(t, p.World().SetName("all"))
		assert.Equal(t, "all", p.World().String())
		var none *mpi.Comm
		assert.Equal(t, "MPI_COMM_NULL", none.String())
		assert.Equal(t, mpi.Undefined, none.Rank())
		assert.Zero(t, none.Size())
		assert.False(t, none.IsInter())
	})
}

// TestProbe looks at messages before it receives them.
func TestProbe(t *testing.T) {
	mpitest.Over(t, everyMethod, func(t *testing.T, o mpitest.Options) {
		mpitest.Run(t, 2, o, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			if w.Rank() == 0 {
				for i := range 8 {
					require.NoError(t, w.Send(bg, mpi.Slice(make([]int16, 10_000*(i%2)+i)), 1, i))
				}
				return
			}
			for i := range 8 {
				length := 10_000*(i%2) + i
				st, err := w.Probe(bg, mpi.AnySource, i)
				require.NoError(t, err)
				assert.Equal(t, mpi.Status{Source: 0, Tag: i, Bytes: 2 * length}, st)
				st, there, err := w.Iprobe(0, mpi.AnyTag)
				require.NoError(t, err)
				assert.True(t, there)
				assert.Equal(t, i, st.Tag)
				probed(t, w, i, length)
			}
			_, there, err := w.Iprobe(0, 0)
			require.NoError(t, err)
			assert.False(t, there)
			_, _, there, err = w.Improbe(0, 0)
			require.NoError(t, err)
			assert.False(t, there)
			_, err = w.Probe(ended(), 0, 0)
			assert.Error(t, err)
			_, _, err = w.Mprobe(ended(), 0, 0)
			assert.Error(t, err)
		})
	})
}

// probed receives a message after a probe, in one of several ways.
func probed(t *testing.T, w *mpi.Comm, way, length int) {
	t.Helper()
	xs := make([]int16, length)
	var st mpi.Status
	var m *mpi.Message
	var err error
	switch way % 4 {
	case 0:
		st, err = w.Recv(bg, mpi.Slice(xs), 0, mpi.AnyTag)
	case 1:
		m, st, err = w.Mprobe(bg, 0, way)
		require.NoError(t, err)
		assert.Equal(t, 2*length, st.Bytes)
		st, err = m.Recv(bg, mpi.Slice(xs))
	case 2:
		var there bool
		m, _, there, err = w.Improbe(mpi.AnySource, mpi.AnyTag)
		require.NoError(t, err)
		require.True(t, there)
		st, err = m.Recv(bg, mpi.Slice(xs))
	default:
		m, _, err = w.Mprobe(bg, 0, mpi.AnyTag)
		require.NoError(t, err)
		st, err = m.Irecv(mpi.Slice(xs)).Wait(bg)
	}
	require.NoError(t, err)
	assert.Equal(t, length, mpi.GetCount[int16](st))
	if m != nil {
		_, err = m.Recv(bg, mpi.Slice(xs))
		fails(t, err, mpi.ErrRequest, "")
	}
}

// hook counts calls.
type hook struct {
	t       *testing.T
	entered atomic.Int64
	left    atomic.Int64
	last    atomic.Pointer[mpi.Call]
	failed  atomic.Int64
}

func (h *hook) Enter(c *mpi.Call) {
	h.entered.Add(1)
	c.Data = h
}

func (h *hook) Leave(c *mpi.Call, err error) {
	assert.Same(h.t, h, c.Data)
	h.left.Add(1)
	if err != nil {
		h.failed.Add(1)
	}
	kept := *c
	h.last.Store(&kept)
}

// TestHook: the hook sees each call once, with its arguments.
func TestHook(t *testing.T) {
	h := &hook{t: t}
	o := mpitest.Options{Each: func(_ int, o *mpi.Options) { o.Hook = h }}
	mpitest.Run(t, 1, o, func(t *testing.T, p *mpi.Process) {
		w, xs := p.World(), make([]int32, 3)
		sees := func(want mpi.Call, failed int64) {
			t.Helper()
			got := *h.last.Load()
			got.Data = nil
			assert.Equal(t, want, got)
			assert.Equal(t, h.entered.Load(), h.left.Load())
			assert.Equal(t, failed, h.failed.Load())
		}
		r := w.Irecv(mpi.Slice(xs), mpi.AnySource, 5)
		sees(mpi.Call{Name: "MPI_Irecv", Comm: w, Peer: mpi.AnySource, Tag: 5, Bytes: 12}, 0)
		require.NoError(t, w.Send(bg, mpi.Slice(xs), 0, 5))
		sees(mpi.Call{Name: "MPI_Send", Comm: w, Peer: 0, Tag: 5, Bytes: 12}, 0)
		_, err := r.Wait(bg)
		require.NoError(t, err)
		sees(mpi.Call{Name: "MPI_Wait", Comm: w, Peer: mpi.Undefined, Tag: mpi.Undefined}, 0)
		assert.EqualValues(t, 3, h.entered.Load())
		assert.Error(t, w.Send(bg, mpi.Slice(xs), 7, 5))
		sees(mpi.Call{Name: "MPI_Send", Comm: w, Peer: 7, Tag: 5, Bytes: 12}, 1)
		assert.Error(t, w.Send(bg, mpi.Slice([]string{""}), 0, 5, mpi.Synchronous))
		sees(mpi.Call{Name: "MPI_Ssend", Comm: w, Peer: 0, Tag: 5}, 2)
		_, err = w.DetachBuffer(t.Context())
		assert.Error(t, err)
		sees(mpi.Call{Name: "MPI_Comm_detach_buffer", Comm: w, Peer: mpi.Undefined, Tag: mpi.Undefined}, 3)
	})
	last := h.last.Load()
	assert.Equal(t, "MPI_Finalize", last.Name)
	assert.Equal(t, h.entered.Load(), h.left.Load())
}

// TestSendrecvTakenBack: an exchange whose context ends cancels the operations that have not ended.
func TestSendrecvTakenBack(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w, other := p.World(), 1-p.World().Rank()
		out, in := make([]int, 100_000), []int{-1} // out does not travel without a receive
		_, err := w.Sendrecv(ended(), mpi.Slice(out), other, 1, mpi.Slice(in), other, 2)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, w.Barrier(bg))
		_, there, err := w.Iprobe(other, 1)
		require.NoError(t, err)
		assert.False(t, there)
		_, err = w.Sendrecv(t.Context(), mpi.Value(&other), other, 2, mpi.Slice(in), other, 2)
		require.NoError(t, err)
		assert.Equal(t, w.Rank(), in[0])
		assert.Zero(t, mpi.EngineOf(p).Stats().Posted)
	})
}
