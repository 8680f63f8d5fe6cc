package mpi_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestNilContext: a nil context never ends.
func TestNilContext(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		var none context.Context
		w, x := p.World(), []int{0}
		post := func() mpi.Request {
			r, err := mpi.Isend(w, []int{1}, 0, 0)
			require.NoError(t, err)
			return r
		}
		calls := map[string]func(r mpi.Request) error{
			"WaitContext":    func(r mpi.Request) error { _, err := r.WaitContext(none); return err },
			"WaitAllContext": func(r mpi.Request) error { return mpi.WaitAllContext(none, []mpi.Request{r}, nil, nil) },
			"WaitAnyContext": func(r mpi.Request) error { _, _, err := mpi.WaitAnyContext(none, []mpi.Request{r}); return err },
			"WaitSome": func(r mpi.Request) error {
				_, err := mpi.WaitSome(none, []mpi.Request{r}, nil, nil, nil)
				return err
			},
			"ProbeContext":  func(mpi.Request) error { _, err := w.ProbeContext(none, 0, 0); return err },
			"MprobeContext": func(mpi.Request) error { m, _, err := w.MprobeContext(none, 0, 0); post(); drop(m); return err },
		}
		for name, call := range calls {
			r := post()
			assert.NotPanics(t, func() { assert.NoError(t, call(r)) }, name)
			_, err := mpi.RecvContext(none, w, x, 0, 0)
			require.NoError(t, err, name)
			_, err = r.Wait()
			require.NoError(t, err)
		}
		require.NoError(t, p.AttachBuffer(make([]byte, 1000)))
		require.NoError(t, p.FlushBuffer(none))
		_, err := p.DetachBuffer(none)
		require.NoError(t, err)
		port, err := p.OpenPort(none, nil)
		require.NoError(t, err)
		accepted := make(chan error, 1)
		go func() {
			_, err := w.Accept(none, port, 0)
			accepted <- err
		}()
		require.NoError(t, p.ClosePort(port))
		assert.ErrorIs(t, <-accepted, mpi.ErrPort)
		_, err = w.Connect(none, port, 0)
		assert.ErrorIs(t, err, mpi.ErrPort)
		assert.Error(t, p.PublishName(none, "a", port))
		assert.Error(t, p.UnpublishName(none, "a"))
		_, err = p.LookupName(none, "a")
		assert.Error(t, err)
	})
}

// drop receives a message that a probe took.
func drop(m *mpi.Message) { _, _ = mpi.Mrecv(m, []int{0}) }

// TestNothingFarAway: the origin of elements without bytes does not matter.
func TestNothingFarAway(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		empty, err := datatype.Contiguous(0, datatype.Int)
		require.NoError(t, err)
		b, err := mpi.Typed(make([]byte, 8), 100, 4, empty)
		require.NoError(t, err)
		assert.NoError(t, w.BcastBuffer(b, 0))
		assert.NoError(t, w.AllgatherBuffer(b, b))
		assert.NoError(t, w.AllreduceBuffer(b, b, mpi.Replace))
	})
}

// TestElsewhereIgnored: arguments that matter only at the root are ignored elsewhere (MPI-4.1, 6.5
// and 6.6).
func TestElsewhereIgnored(t *testing.T) {
	mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		bad := mpi.Buffer{Type: datatype.Int, Count: 3} // has no memory
		one, err := mpi.BufferOf([]int{w.Rank()})
		require.NoError(t, err)
		all := []int{5, 6, 7}
		whole, err := mpi.BufferOf(all)
		require.NoError(t, err)
		if w.Rank() != 1 {
			whole = bad
		}
		require.NoError(t, w.ScatterBuffer(whole, one, 1))
		require.NoError(t, w.ScattervBuffer(whole, one, []int{1, 1, 1}, nil, 1))
		require.NoError(t, w.GatherBuffer(one, whole, 1))
		require.NoError(t, w.GathervBuffer(one, whole, []int{1, 1, 1}, nil, 1))
		if w.Rank() == 1 {
			whole = mpi.Buffer{Type: datatype.Int, Count: 1, Mem: whole.Mem}
		}
		require.NoError(t, w.ReduceBuffer(one, whole, mpi.Sum, 1))
	})
}
