package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/samplesort"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// generate makes the input. Every process makes the records of its part.
func generate(ctx context.Context, w *mpi.Comm, o *options) error {
	input, err := samplesort.NewInput(o.kind, o.generate, o.seed)
	if err != nil {
		return err
	}
	first, n := share(o.generate, w.Size(), w.Rank())
	records := make([]samplesort.Record, n)
	input.Fill(first, records)
	sum := samplesort.Summarize(records).Sum
	if err := w.Allreduce(ctx, mpi.InPlace, mpi.Value(&sum), mpi.Sum); err != nil {
		return err
	}
	return writeTogether(ctx, w, o.in, samplesort.Header{Count: o.generate, Sum: sum}, first, records)
}

// write writes the output. The place of a process's records depends on how many the lower ranks
// have.
func write(ctx context.Context, w *mpi.Comm, name string, header samplesort.Header, records []samplesort.Record) error {
	mine, before := uint64(len(records)), uint64(0) // before stays 0 on rank 0
	if err := w.Exscan(ctx, mpi.Value(&mine), mpi.Value(&before), mpi.Sum); err != nil {
		return err
	}
	return writeTogether(ctx, w, name, header, before, records)
}

// writeTogether writes a file to which every process contributes records, from number first on. It
// returns when all have written.
func writeTogether(ctx context.Context, w *mpi.Comm, name string, header samplesort.Header, first uint64, records []samplesort.Record) error {
	if w.Rank() == 0 {
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		if err := errors.Join(samplesort.WriteHeader(f, header), f.Close()); err != nil {
			return err
		}
	}
	if err := w.Barrier(ctx); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(samplesort.WriteRecords(f, first, records), f.Close()); err != nil {
		return err
	}
	return w.Barrier(ctx)
}

// verify reads the output again. Each process reads a part that another has written, and rank 0
// compares the results with the header of the input.
func verify(ctx context.Context, w *mpi.Comm, name string, want samplesort.Header) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if got, err := samplesort.ReadHeader(f, info.Size()); err != nil || got != want {
		return errors.Join(fmt.Errorf("samplesort: %s is to begin with %+v, and has %+v", name, want, got), err)
	}
	first, n := share(want.Count, w.Size(), (w.Rank()+1)%w.Size())
	records := make([]samplesort.Record, n)
	if err := samplesort.ReadRecords(f, first, records); err != nil {
		return err
	}
	mine, seen := samplesort.Summarize(records), make([]samplesort.Summary, w.Size())
	if err := w.Gather(ctx, mpi.Value(&mine), mpi.Slice(seen), 0); err != nil || w.Rank() != 0 {
		return err
	}
	last := len(seen) - 1 // the last process has read the first part
	return samplesort.Join(append(seen[last:], seen[:last]...)).Check(want)
}
