package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/cg"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// generate makes the file of a matrix. Every process writes the lines of its rows, after those of
// lower ranks.
func generate(ctx context.Context, w *mpi.Comm, grid *cg.Grid, name string) error {
	bounds := divide(grid.Len(), w.Size())
	rows := grid.Rows(bounds[w.Rank()], bounds[w.Rank()+1]-bounds[w.Rank()])
	entries := rows.LowerEntries()
	if err := w.Allreduce(ctx, mpi.InPlace, mpi.Value(&entries), mpi.Sum); err != nil {
		return err
	}
	var text []byte
	if w.Rank() == 0 {
		text = cg.AppendHeader(nil, grid.Len(), entries)
		f, err := os.Create(name) // before any process writes to it
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	text = rows.AppendEntries(text)
	length, offset := len(text), 0 // offset stays 0 on rank 0
	if err := w.Exscan(ctx, mpi.Value(&length), mpi.Value(&offset), mpi.Sum); err != nil {
		return err
	}
	if err := w.Barrier(ctx); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(text, int64(offset))
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return w.Barrier(ctx)
}

// Tags of the messages with rows.
const (
	pointersTag = iota + 1
	columnsTag
	valuesTag
)

// load reads a matrix on rank 0, which keeps it, and distributes its rows: process i gets those
// from bounds[i] to bounds[i+1]-1.
func load(ctx context.Context, w *mpi.Comm, name string) (whole, rows *cg.Rows, bounds []int, err error) {
	if w.Rank() == 0 {
		if whole, err = read(name); err != nil {
			return nil, nil, nil, err
		}
	}
	size := 0
	if whole != nil {
		size = whole.Cols
	}
	if err := w.Bcast(ctx, mpi.Value(&size), 0); err != nil {
		return nil, nil, nil, err
	}
	bounds = divide(size, w.Size())
	if w.Rank() != 0 {
		rows, err = receive(ctx, w, bounds)
		return nil, rows, bounds, err
	}
	for rank := 1; rank < w.Size(); rank++ {
		part := whole.Part(bounds[rank], bounds[rank+1]-bounds[rank])
		if err := send(ctx, w, part, rank); err != nil {
			return nil, nil, nil, err
		}
	}
	return whole, whole.Part(0, bounds[1]), bounds, nil
}

// read reads a matrix that is suitable for conjugate gradients.
func read(name string) (*cg.Rows, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	a, err := cg.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return a, a.CheckSymmetric()
}

// send sends rows to a process.
func send(ctx context.Context, w *mpi.Comm, rows *cg.Rows, to int) error {
	return mpi.WaitAll(ctx,
		w.Isend(mpi.Slice(rows.Ptr), to, pointersTag),
		w.Isend(mpi.Slice(rows.Col), to, columnsTag),
		w.Isend(mpi.Slice(rows.Val), to, valuesTag))
}

// receive receives this process's rows. The last of the row pointers, which come first, is the
// number of values.
func receive(ctx context.Context, w *mpi.Comm, bounds []int) (*cg.Rows, error) {
	first, n := bounds[w.Rank()], bounds[w.Rank()+1]-bounds[w.Rank()]
	rows := &cg.Rows{First: first, Cols: bounds[w.Size()], Ptr: make([]int, n+1)}
	if _, err := w.Recv(ctx, mpi.Slice(rows.Ptr), 0, pointersTag); err != nil {
		return nil, err
	}
	rows.Col, rows.Val = make([]int32, rows.Ptr[n]), make([]float64, rows.Ptr[n])
	return rows, mpi.WaitAll(ctx,
		w.Irecv(mpi.Slice(rows.Col), 0, columnsTag),
		w.Irecv(mpi.Slice(rows.Val), 0, valuesTag))
}

// divide returns where each process's part of n elements begins, and the end.
func divide(n, processes int) (bounds []int) {
	for rank := range processes + 1 {
		bounds = append(bounds, rank*n/processes)
	}
	return bounds
}
