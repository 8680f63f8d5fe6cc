package mpi_test

import (
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
			st, err := mpi.Sendrecv(w, out, next, 4, in, before, 4)
			require.NoError(t, err)
			assert.Equal(t, before, st.Source)
			assert.Equal(t, length, mpi.GetCount[uint64](st))
			assert.Equal(t, byte(before+1), in[8*length-8])

			st, err = mpi.SendrecvReplace(w, out, next, 5, mpi.AnySource, 5)
			require.NoError(t, err)
			assert.Equal(t, before, st.Source)
			assert.Equal(t, uint64(before+1), out[length-1])

			r, err := mpi.Isendrecv(w, out, before, 6, in, next, 6)
			require.NoError(t, err)
			st, err = r.Wait()
			require.NoError(t, err)
			assert.Equal(t, next, st.Source)
			assert.Equal(t, byte(w.Rank()+1), in[8*length-8])

			r, err = mpi.IsendrecvReplace(w, out, before, 7, next, 7)
			require.NoError(t, err)
			_, err = r.Wait()
			require.NoError(t, err)
			assert.Equal(t, uint64(w.Rank()+1), out[length-1])
		}
		short := make([]byte, 2)
		r, err := mpi.Isendrecv(w, make([]byte, 3), next, 8, short, before, 8)
		require.NoError(t, err)
		_, err = r.Wait()
		fails(t, err, mpi.ErrTruncate, "")
	})
}

// TestProcNull: messages to and from ProcNull.
func TestProcNull(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w, x := p.World(), []int{5}
		require.NoError(t, mpi.Send(w, x, mpi.ProcNull, 1))
		require.NoError(t, mpi.Ssend(w, x, mpi.ProcNull, 1))
		none := func(st mpi.Status, err error) {
			t.Helper()
			require.NoError(t, err)
			assert.Equal(t, mpi.ProcNull, st.Source)
			assert.Equal(t, mpi.AnyTag, st.Tag)
			assert.Equal(t, 0, mpi.GetCount[int](st))
			assert.Equal(t, 5, x[0])
		}
		none(mpi.Recv(w, x, mpi.ProcNull, 1))
		none(mpi.Sendrecv(w, x, mpi.ProcNull, 1, x, mpi.ProcNull, 2))
		none(w.Probe(mpi.ProcNull, mpi.AnyTag))
		r, err := mpi.Irecv(w, x, mpi.ProcNull, 1)
		require.NoError(t, err)
		none(r.Wait())
		st, there, err := w.Iprobe(mpi.ProcNull, 1)
		assert.True(t, there)
		none(st, err)
		m, st, err := w.Mprobe(mpi.ProcNull, 1)
		none(st, err)
		none(mpi.Mrecv(m, x))
	})
}

// TestSelf sends to itself.
func TestSelf(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		for _, c := range []*mpi.Comm{p.World(), p.Self()} {
			xs := make([]float64, 50_000)
			r, err := mpi.Irecv(c, xs, mpi.AnySource, 1)
			require.NoError(t, err)
			ys := make([]float64, len(xs))
			ys[49_999] = 1.5
			require.NoError(t, mpi.Send(c, ys, 0, 1))
			_, err = r.Wait()
			require.NoError(t, err)
			assert.Equal(t, ys, xs)
		}
		assert.Equal(t, "MPI_COMM_WORLD", p.World().Name())
		assert.Equal(t, "MPI_COMM_SELF", p.Self().String())
		require.NoError(t, p.World().SetName("all"))
		assert.Equal(t, "all", p.World().Name())
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
					require.NoError(t, mpi.Send(w, make([]int16, 10_000*(i%2)+i), 1, i))
				}
				return
			}
			for i := range 8 {
				length := 10_000*(i%2) + i
				st, err := w.Probe(mpi.AnySource, i)
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
			_, err = w.ProbeContext(ended(), 0, 0)
			assert.Error(t, err)
			_, _, err = w.MprobeContext(ended(), 0, 0)
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
		st, err = mpi.Recv(w, xs, 0, mpi.AnyTag)
	case 1:
		m, st, err = w.Mprobe(0, way)
		require.NoError(t, err)
		assert.Equal(t, 2*length, st.Bytes)
		st, err = mpi.Mrecv(m, xs)
	case 2:
		var there bool
		m, _, there, err = w.Improbe(mpi.AnySource, mpi.AnyTag)
		require.NoError(t, err)
		require.True(t, there)
		st, err = mpi.Mrecv(m, xs)
	default:
		m, _, err = w.Mprobe(0, mpi.AnyTag)
		require.NoError(t, err)
		var r mpi.Request
		r, err = mpi.Imrecv(m, xs)
		require.NoError(t, err)
		st, err = r.Wait()
	}
	require.NoError(t, err)
	assert.Equal(t, length, mpi.GetCount[int16](st))
	if m != nil {
		_, err = mpi.Mrecv(m, xs)
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
		r, err := mpi.Irecv(w, xs, mpi.AnySource, 5)
		require.NoError(t, err)
		sees(mpi.Call{Name: "MPI_Irecv", Comm: w, Peer: mpi.AnySource, Tag: 5, Bytes: 12}, 0)
		require.NoError(t, mpi.Send(w, xs, 0, 5))
		sees(mpi.Call{Name: "MPI_Send", Comm: w, Peer: 0, Tag: 5, Bytes: 12}, 0)
		_, err = r.Wait()
		require.NoError(t, err)
		sees(mpi.Call{Name: "MPI_Wait", Comm: w, Peer: mpi.Undefined, Tag: mpi.Undefined}, 0)
		assert.EqualValues(t, 3, h.entered.Load())
		assert.Error(t, mpi.Send(w, xs, 7, 5))
		sees(mpi.Call{Name: "MPI_Send", Comm: w, Peer: 7, Tag: 5, Bytes: 12}, 1)
		assert.Error(t, mpi.Ssend(w, []string{""}, 0, 5))
		sees(mpi.Call{Name: "MPI_Ssend", Comm: w, Peer: mpi.Undefined, Tag: mpi.Undefined}, 2)
		_, err = p.DetachBuffer(t.Context())
		assert.Error(t, err)
		sees(mpi.Call{Name: "MPI_Buffer_detach", Peer: mpi.Undefined, Tag: mpi.Undefined}, 3)
	})
	last := h.last.Load()
	assert.Equal(t, "MPI_Finalize", last.Name)
	assert.Equal(t, h.entered.Load(), h.left.Load())
}
