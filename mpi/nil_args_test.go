package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/group"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestNilArguments: a nil argument where a value is needed is an error, not a panic.
func TestNilArguments(t *testing.T) {
	mpitest.Run(t, 1, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w, x, y := p.World(), []int{1}, []int{0}
		var buffers []mpi.Buffer
		refused := map[string]func() error{
			"Allreduce":          func() error { return w.Allreduce(bg, mpi.Slice(x), mpi.Slice(y), nil) },
			"AllreduceInPlace":   func() error { return w.Allreduce(bg, mpi.InPlace, mpi.Slice(y), nil) },
			"Iallreduce":         func() error { _, err := w.Iallreduce(mpi.Slice(x), mpi.Slice(y), nil).Wait(bg); return err },
			"Reduce":             func() error { return w.Reduce(bg, mpi.Slice(x), mpi.Slice(y), nil, 0) },
			"Scan":               func() error { return w.Scan(bg, mpi.Slice(x), mpi.Slice(y), nil) },
			"Exscan":             func() error { return w.Exscan(bg, mpi.Slice(x), mpi.Slice(y), nil) },
			"ReduceScatter":      func() error { return w.ReduceScatter(bg, mpi.Slice(x).Parts([]int{1}, nil), mpi.Slice(y), nil) },
			"ReduceScatterBlock": func() error { return w.ReduceScatter(bg, mpi.Slice(x), mpi.Slice(y), nil) },
			"ReduceLocal":        func() error { return mpi.ReduceLocal(mpi.Slice(x), mpi.Slice(y), nil) },
			"SetAttr":            func() error { return w.SetAttr(nil, 1) },
			"Attr":               func() error { _, _, err := w.Attr(nil); return err },
			"DeleteAttr":         func() error { return w.DeleteAttr(nil) },
			"Create":             func() error { _, err := w.Create(bg, nil); return err },
			"CreateGroup":        func() error { _, err := w.CreateGroup(bg, nil, 0); return err },
			"Compare":            func() error { _, err := w.Compare(nil); return err },
			"IntercommCreate":    func() error { _, err := w.IntercommCreate(bg, 0, nil, 0, 0); return err },
			"Alltoallw":          func() error { return w.Alltoall(bg, mpi.Each(buffers...), mpi.Each(buffers...)) },
			"BcastInPlace":       func() error { return w.Bcast(bg, mpi.InPlace, 0) },
			"SendInPlace":        func() error { return w.Send(bg, mpi.InPlace, 0, 0) },
			"Gatherv":            func() error { return w.Gatherv(bg, mpi.Slice(x), mpi.Slice(y).Parts(nil, nil), 0) },
			"SpawnMultiple":      func() error { _, _, err := w.Spawn(t.Context(), 0); return err },
			"CartCreate":         func() error { _, err := w.CartCreate(bg, nil, []bool{true}, false); return err },
			"GraphCreate":        func() error { _, err := w.GraphCreate(bg, nil, x, false); return err },
			"CompareGroups":      func() error { _, err := group.Compare(nil, w.Group()); return err },
			"Union":              func() error { _, err := group.Union(nil, w.Group()); return err },
			"NewOp":              func() error { _, err := mpi.NewOp[int](nil, true); return err },
			"Join":               func() error { _, err := p.Join(t.Context(), nil); return err },
			"Start":              func() error { return mpi.Requests{{}}.StartAll() },
		}
		for name, call := range refused {
			assert.NotPanics(t, func() { assert.Error(t, call(), name) }, name)
		}
		fine := map[string]func() error{
			"SetInfo":         func() error { return w.SetInfo(nil) },
			"SetErrorHandler": func() error { return w.SetErrorHandler(nil) },
			"WaitAll":         func() error { return mpi.WaitAll(bg) },
			"BcastNothing":    func() error { return w.Bcast(bg, mpi.Slice([]int(nil)), 0) },
			"SendNothing":     func() error { return w.Send(bg, mpi.Slice([]int(nil)), mpi.ProcNull, 0) },
			"GrequestStart": func() error {
				r, complete, err := p.GrequestStart(nil)
				assert.NoError(t, err)
				assert.NoError(t, r.Cancel())
				assert.NoError(t, complete(mpi.Status{}, nil))
				_, err = r.Wait(bg)
				return err
			},
		}
		for name, call := range fine {
			assert.NotPanics(t, func() { assert.NoError(t, call(), name) }, name)
		}
	})
}
