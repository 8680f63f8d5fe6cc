package rma_test

import (
	"context"
	"testing"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/rma"
)

// BenchmarkShared measures operations of 8 bytes with their flush on shared memory, without another
// process at work.
func BenchmarkShared(b *testing.B) {
	for _, bm := range []struct {
		name string
		do   func(w *rma.Win, x *int64)
	}{
		{"put", func(w *rma.Win, x *int64) { w.Put(mpi.Value(x), rma.At(0, 0)) }},
		{"get", func(w *rma.Win, x *int64) { w.Get(mpi.Value(x), rma.At(0, 0)) }},
		{"fetch_and_op", func(w *rma.Win, x *int64) { w.FetchAndOp(mpi.Value(x), mpi.Value(x), rma.At(0, 0), mpi.Sum) }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			w := alone(b)
			x := new(int64)
			b.ReportAllocs()
			for b.Loop() {
				bm.do(w, x)
				if err := w.Flush(bg, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// alone returns a locked window of one process.
func alone(b *testing.B) *rma.Win {
	ctx := context.Background()
	boots, err := boot.Local(1)
	if err != nil {
		b.Fatal(err)
	}
	p, err := mpi.Init(ctx, mpi.Options{Boot: boots[0], Method: "mem"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Finalize(ctx) })
	w, err := rma.Allocate(ctx, p.World(), 64, 8, nil)
	if err == nil {
		err = w.LockAll(ctx)
	}
	if err != nil {
		b.Fatal(err)
	}
	return w
}
