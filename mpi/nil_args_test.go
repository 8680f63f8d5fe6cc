package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestNilArguments: a nil argument where a value is needed is an error, not a panic.
func TestNilArguments(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w, x, y := p.World(), []int{1}, []int{0}
		var buffers []mpi.Buffer
		refused := map[string]func() error{
			"Allreduce":          func() error { return mpi.Allreduce(w, x, y, nil) },
			"AllreduceInPlace":   func() error { return mpi.Allreduce(w, nil, y, nil) },
			"Iallreduce":         func() error { _, err := mpi.Iallreduce(w, x, y, nil); return err },
			"Reduce":             func() error { return mpi.Reduce(w, x, y, nil, 0) },
			"Scan":               func() error { return mpi.Scan(w, x, y, nil) },
			"Exscan":             func() error { return mpi.Exscan(w, x, y, nil) },
			"ReduceScatter":      func() error { return mpi.ReduceScatter(w, x, y, []int{1}, nil) },
			"ReduceScatterBlock": func() error { return mpi.ReduceScatterBlock(w, x, y, nil) },
			"ReduceLocal":        func() error { return mpi.ReduceLocal(x, y, nil) },
			"SetAttr":            func() error { return w.SetAttr(nil, 1) },
			"Attr":               func() error { _, _, err := w.Attr(nil); return err },
			"DeleteAttr":         func() error { return w.DeleteAttr(nil) },
			"Create":             func() error { _, err := w.Create(nil); return err },
			"CreateGroup":        func() error { _, err := w.CreateGroup(nil, 0); return err },
			"Compare":            func() error { _, err := w.Compare(nil); return err },
			"Idup":               func() error { _, err := w.Idup(nil); return err },
			"IntercommCreate":    func() error { _, err := w.IntercommCreate(0, nil, 0, 0); return err },
			"Alltoallw":          func() error { return w.Alltoallw(buffers, buffers) },
			"Gatherv":            func() error { return mpi.Gatherv(w, x, y, nil, nil, 0) },
			"SpawnMultiple":      func() error { _, _, err := w.SpawnMultiple(t.Context(), nil, 0); return err },
			"CartCreate":         func() error { _, err := w.CartCreate(nil, []bool{true}, false); return err },
			"GraphCreate":        func() error { _, err := w.GraphCreate(nil, x, false); return err },
			"CompareGroups":      func() error { _, err := mpi.CompareGroups(nil, w.Group()); return err },
			"Union":              func() error { _, err := mpi.Union(nil, w.Group()); return err },
			"NewOp":              func() error { _, err := mpi.NewOp[int](nil, true); return err },
			"Join":               func() error { _, err := p.Join(t.Context(), nil); return err },
			"Start":              func() error { return mpi.StartAll(mpi.Request{}) },
		}
		for name, call := range refused {
			assert.NotPanics(t, func() { assert.Error(t, call(), name) }, name)
		}
		fine := map[string]func() error{
			"DupWithInfo":     func() error { c, err := w.DupWithInfo(nil); _ = c.Free(); return err },
			"SetInfo":         func() error { return w.SetInfo(nil) },
			"SetErrorHandler": func() error { return w.SetErrorHandler(nil) },
			"WaitAll":         func() error { return mpi.WaitAll() },
			"BcastNothing":    func() error { return mpi.Bcast[int](w, nil, 0) },
			"GrequestStart": func() error {
				r, complete, err := p.GrequestStart(nil)
				assert.NoError(t, err)
				assert.NoError(t, r.Cancel())
				assert.NoError(t, complete(mpi.Status{}, nil))
				_, err = r.Wait()
				return err
			},
		}
		for name, call := range fine {
			assert.NotPanics(t, func() { assert.NoError(t, call(), name) }, name)
		}
	})
}
