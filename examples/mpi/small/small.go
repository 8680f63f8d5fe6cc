// Package small has ten small programs in Go, and in the folder others the same in C and in Python. Its test runs
// them, and compares those that docs/guides/mpi-write.md shows with the page.
package small

import (
	"context"
	"fmt"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/datatype"
	"github.com/viaduct-hpc/viaduct/mpi/object"
)

// A Program is what every process does.
type Program struct {
	Name string
	Run  func(ctx context.Context, w *mpi.Comm) error
}

// Programs are all programs, in the order of the other files.
var Programs = []Program{
	{"hello", hello},
	{"message", message},
	{"unknown_length", unknownLength},
	{"ring", ring},
	{"sum", sum},
	{"gather_parts", gatherParts},
	{"settings", settings},
	{"halo", halo},
	{"column", column},
	{"rows", rows},
}

func hello(_ context.Context, w *mpi.Comm) error {
	fmt.Printf("rank %d of %d\n", w.Rank(), w.Size())
	return nil
}

func message(ctx context.Context, w *mpi.Comm) error {
	xs := make([]float64, 100)
	if w.Rank() == 0 {
		return w.Send(ctx, mpi.Slice(xs), 1, 7)
	}
	st, err := w.Recv(ctx, mpi.Slice(xs), 0, 7)
	if err != nil {
		return err
	}
	fmt.Println(st.Count(datatype.Float64), "numbers from", st.Source)
	return nil
}

func unknownLength(ctx context.Context, w *mpi.Comm) error {
	if w.Rank() == 0 {
		return w.Send(ctx, mpi.Slice([]byte("how long?")), 1, 0)
	}
	m, st, err := w.Mprobe(ctx, 0, 0)
	if err != nil {
		return err
	}
	text := make([]byte, st.Bytes)
	_, err = m.Recv(ctx, mpi.Slice(text))
	return err
}

func ring(ctx context.Context, w *mpi.Comm) error {
	mine, theirs := w.Rank(), 0
	next, last := (w.Rank()+1)%w.Size(), (w.Rank()+w.Size()-1)%w.Size()
	_, err := w.Sendrecv(ctx, mpi.Value(&mine), next, 0, mpi.Value(&theirs), last, 0)
	return err
}

func sum(ctx context.Context, w *mpi.Comm) error {
	mine, all := float64(w.Rank()), 0.0
	return w.Allreduce(ctx, mpi.Value(&mine), mpi.Value(&all), mpi.Sum)
}

func gatherParts(ctx context.Context, w *mpi.Comm) error {
	part := make([]int32, w.Rank()+1)
	counts, n := make([]int, w.Size()), len(part)
	if err := w.Gather(ctx, mpi.Value(&n), mpi.Slice(counts), 0); err != nil {
		return err
	}
	all := make([]int32, w.Size()*(w.Size()+1)/2)
	return w.Gatherv(ctx, mpi.Slice(part), mpi.Slice(all).Parts(counts, nil), 0)
}

func settings(ctx context.Context, w *mpi.Comm) error {
	var s map[string]any
	if w.Rank() == 0 {
		s = map[string]any{"mesh": "fine", "steps": 100}
	}
	return object.Bcast(ctx, w, &s, 0)
}

func halo(ctx context.Context, w *mpi.Comm) error {
	xs := make([]float64, 102) // 100 of this process, and one of each neighbour
	left, right := mpi.ProcNull, mpi.ProcNull
	if w.Rank() > 0 {
		left = w.Rank() - 1
	}
	if w.Rank() < w.Size()-1 {
		right = w.Rank() + 1
	}
	return mpi.WaitAll(ctx,
		w.Irecv(mpi.Value(&xs[0]), left, 0),
		w.Irecv(mpi.Value(&xs[101]), right, 0),
		w.Isend(mpi.Value(&xs[1]), left, 0),
		w.Isend(mpi.Value(&xs[100]), right, 0))
}

func column(ctx context.Context, w *mpi.Comm) error {
	table := make([]float64, 10*20) // 10 rows of 20
	col, err := datatype.Vector(10, 1, 20, datatype.Float64)
	if err != nil {
		return err
	}
	third := mpi.Typed(table, 3, 1, col) // from element 3 on
	r := w.Irecv(third, 0, 0, mpi.Persistent)
	if w.Rank() == 0 {
		r = w.Isend(third, 1, 0, mpi.Persistent)
	}
	for range 5 {
		if err := r.Start(); err != nil {
			return err
		}
		if _, err := r.Wait(ctx); err != nil {
			return err
		}
	}
	return r.Free()
}

func rows(ctx context.Context, w *mpi.Comm) error {
	row, err := w.Split(ctx, w.Rank()/2, w.Rank()) // two processes each
	if err != nil {
		return err
	}
	most := row.Rank()
	if err := row.Allreduce(ctx, mpi.InPlace, mpi.Value(&most), mpi.Max); err != nil {
		return err
	}
	return row.Free()
}
