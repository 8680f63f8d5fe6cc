package main

import (
	"context"
	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/samplesort"
	"github.com/viaduct-hpc/viaduct/mpi"
)

// samplesOf returns how many keys each of some processes sends as samples. With more samples, the
// sizes of the parts differ less.
func samplesOf(processes int) int { return 64 * processes }

// sort sorts the records of all processes. Every process gets a part whose keys are not smaller
// than those of lower ranks. The contents of records are lost.
func sort(ctx context.Context, w *mpi.Comm, records []samplesort.Record) ([]samplesort.Record, error) {
	samplesort.Sort(records, make([]samplesort.Record, len(records)))
	splitters, err := agree(ctx, w, records)
	if err != nil {
		return nil, err
	}
	pieces, incoming, err := exchange(ctx, w, records, samplesort.Cut(records, splitters))
	if err != nil {
		return nil, err
	}
	sorted := make([]samplesort.Record, len(pieces))
	runs := make([][]samplesort.Record, w.Size()) // from each process, each sorted
	for rank, n := range incoming {
		runs[rank], pieces = pieces[:n], pieces[n:]
	}
	samplesort.Merge(sorted, runs)
	return sorted, nil
}

// agree chooses splitters from the samples of all processes.
func agree(ctx context.Context, w *mpi.Comm, sorted []samplesort.Record) ([]samplesort.Splitter, error) {
	sample := samplesort.Sample(sorted, samplesOf(w.Size()))
	mine, counts := len(sample), make([]int, w.Size())
	if err := w.Allgather(ctx, mpi.Value(&mine), mpi.Slice(counts)); err != nil {
		return nil, err
	}
	all := make([]uint64, total(counts))
	if err := w.Allgather(ctx, mpi.Slice(sample), mpi.Slice(all).Parts(counts, nil)); err != nil {
		return nil, err
	}
	return samplesort.Splitters(all, w.Size()), nil
}

// exchange sends records bounds[i] to bounds[i+1]-1 to rank i. It returns the records of the
// others, one piece after another, and how many came from each.
func exchange(ctx context.Context, w *mpi.Comm, records []samplesort.Record, bounds []int) (pieces []samplesort.Record, incoming []int, err error) {
	outgoing := make([]int, w.Size())
	for rank := range outgoing {
		outgoing[rank] = bounds[rank+1] - bounds[rank]
	}
	incoming = make([]int, w.Size())
	if err := w.Alltoall(ctx, mpi.Slice(outgoing), mpi.Slice(incoming)); err != nil {
		return nil, nil, err
	}
	pieces = make([]samplesort.Record, total(incoming))
	return pieces, incoming, w.Alltoall(ctx, mpi.Slice(records).Parts(outgoing, nil), mpi.Slice(pieces).Parts(incoming, nil))
}

func total(counts []int) int {
	n := 0
	for _, count := range counts {
		n += count
	}
	return n
}
