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
			return w.Isend(mpi.Slice([]int{1}), 0, 0)
		}
		calls := map[string]func(r mpi.Request) error{
			"Wait":    func(r mpi.Request) error { _, err := r.Wait(none); return err },
			"WaitAll": func(r mpi.Request) error { return mpi.Requests{r}.WaitAll(none, nil) },
			"WaitAny": func(r mpi.Request) error { _, _, err := mpi.Requests{r}.WaitAny(none); return err },
			"WaitSome": func(r mpi.Request) error {
				_, err := mpi.Requests{r}.WaitSome(none, nil, nil)
				return err
			},
			"Send": func(mpi.Request) error { return w.Send(none, mpi.Slice(x), mpi.ProcNull, 0, mpi.Synchronous) },
			"Sendrecv": func(mpi.Request) error {
				return status(w.Sendrecv(none, mpi.Slice(x), 0, 7, mpi.InPlace, 0, 7))
			},
			"Mrecv": func(mpi.Request) error {
				post()
				m, _, err := w.Mprobe(bg, 0, 0)
				require.NoError(t, err)
				return status(m.Recv(none, mpi.Slice(x)))
			},
			"Barrier":     func(mpi.Request) error { return w.Barrier(none) },
			"Allreduce":   func(mpi.Request) error { return w.Allreduce(none, mpi.InPlace, mpi.Slice([]int{1}), mpi.Sum) },
			"Bcast":       func(mpi.Request) error { return w.Bcast(none, mpi.Slice(x), 0) },
			"Dup":         func(mpi.Request) error { _, err := w.Dup(none); return err },
			"Split":       func(mpi.Request) error { _, err := w.Split(none, 0, 0); return err },
			"CreateGroup": func(mpi.Request) error { _, err := w.CreateGroup(none, w.Group(), 0); return err },
			"Agree":       func(mpi.Request) error { _, err := w.Agree(none, 1); return err },
			"Shrink":      func(mpi.Request) error { _, err := w.Shrink(none); return err },
			"Probe":       func(mpi.Request) error { _, err := w.Probe(none, 0, 0); return err },
			"Mprobe":      func(mpi.Request) error { m, _, err := w.Mprobe(none, 0, 0); post(); drop(m); return err },
		}
		for name, call := range calls {
			r := post()
			assert.NotPanics(t, func() { assert.NoError(t, call(r)) }, name)
			_, err := w.Recv(none, mpi.Slice(x), 0, 0)
			require.NoError(t, err, name)
			_, err = r.Wait(bg)
			require.NoError(t, err)
		}
		require.NoError(t, p.World().AttachBuffer(make([]byte, 1000)))
		require.NoError(t, p.World().FlushBuffer(none))
		_, err := p.World().DetachBuffer(none)
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
func drop(m *mpi.Message) { _, _ = m.Recv(bg, mpi.Slice([]int{0})) }

// TestNothingAtTheEnd: elements without bytes may lie at the end of a slice.
func TestNothingAtTheEnd(t *testing.T) {
	mpitest.Run(t, 2, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		empty, err := datatype.Contiguous(0, datatype.Int)
		require.NoError(t, err)
		b := mpi.Typed(make([]byte, 8), 8, 4, empty)
		assert.NoError(t, w.Bcast(bg, b, 0))
		assert.NoError(t, w.Allgather(bg, b, b))
		assert.NoError(t, w.Allreduce(bg, b, b, mpi.Replace))
	})
}

// TestElsewhereIgnored: arguments that matter only at the root are ignored elsewhere (MPI-4.1, 6.5
// and 6.6).
func TestElsewhereIgnored(t *testing.T) {
	mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		bad := mpi.Typed([]byte(nil), 0, 3, datatype.Int) // has no memory
		one := mpi.Slice([]int{w.Rank()})
		all := []int{5, 6, 7}
		whole := mpi.Slice(all)
		if w.Rank() != 1 {
			whole = bad
		}
		require.NoError(t, w.Scatter(bg, whole, one, 1))
		require.NoError(t, w.Scatterv(bg, whole.Parts([]int{1, 1, 1}, nil), one, 1))
		require.NoError(t, w.Gather(bg, one, whole, 1))
		require.NoError(t, w.Gatherv(bg, one, whole.Parts([]int{1, 1, 1}, nil), 1))
		if w.Rank() == 1 {
			whole = mpi.Slice(all[:1])
		}
		require.NoError(t, w.Reduce(bg, one, whole, mpi.Sum, 1))
	})
}
