package main

import (
	"fmt"
	"math"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// The marks of package mpi, relative to Open MPI between two ranks on the same cores.
const (
	mpiLatencyReach, mpiLatencyAim       = 1.15, 0.95
	mpiRateReach, mpiRateAim             = 0.9, 1.1 // of messages a second, at least
	mpiCollectiveReach, mpiCollectiveAim = 1.1, 0.9
	mpiLargeReach                        = 1.0
	mpiSortReach                         = 1.2
	mpiAddReach                          = 100.0 // ns in addition to bmi's half round trip
	mpiLargeSize                         = 1 << 20
	mpiRowsPrefix                        = "mpi: "
)

// othersMPI are the other MPIs.
var othersMPI = []string{openMPI, mpich}

// mpiRows are the rows of the table of aims about package mpi.
func mpiRows(all *results) []row {
	return append(mpiSmallRows(all),
		mpiTimeRow(all, perf.FormatSize(mpiLargeSize)+" half round trip", perf.Latency, mpiLargeSize, mpiLargeReach, mpiLargeReach),
		mpiAddRow(all),
		mpiSortRow(all),
	)
}

// mpiSmallRows are those of small messages and collective operations.
func mpiSmallRows(all *results) []row {
	return []row{
		mpiTimeRow(all, "8 B half round trip", perf.Latency, rateSize, mpiLatencyReach, mpiLatencyAim),
		bestRow(all, mpiRowsPrefix, oursMPI, othersMPI, 64),
		bestRow(all, mpiRowsPrefix, oursMPI, othersMPI, 1<<10),
		mpiRateRow(all),
		mpiTimeRow(all, "8 B allreduce", allreduce, allreduceSize, mpiCollectiveReach, mpiCollectiveAim),
		mpiTimeRow(all, "barrier", barrier, 0, mpiCollectiveReach, mpiCollectiveAim),
	}
}

// mpiTimeRow compares times of two ranks, in microseconds.
func mpiTimeRow(all *results, what string, test perf.Test, size int, reach, aim float64) row {
	our, theirs := value(all, oursMPI, test, size), value(all, openMPI, test, size)
	method, least := best(all, othersMPI, test, size, false)
	format := "%.3f µs"
	if size >= mpiLargeSize {
		format = "%.2f µs"
	}
	return row{
		What: mpiRowsPrefix + what, Value: measured(our, format),
		Best:  againstBest(our, method, least, format) + besides(our, method, openMPI, theirs),
		Reach: ofOpenMPI("≤", reach), Aim: ofOpenMPI("≤", aim),
		Verdict: judge(ratio(our, theirs), reach, aim),
	}
}

func ofOpenMPI(sign string, times float64) string { return mark(sign, times, label(openMPI)) }

func mpiRateRow(all *results) row {
	our, theirs := value(all, oursMPI, perf.Rate, rateSize), value(all, openMPI, perf.Rate, rateSize)
	method, most := best(all, othersMPI, perf.Rate, rateSize, true)
	return row{
		What: fmt.Sprintf("%s8 B message rate, window %d", mpiRowsPrefix, rateWindow), Value: measured(our/1e6, "%.2f million/s"),
		Best:  againstBest(our/1e6, method, most/1e6, "%.2f million/s") + besides(our, method, openMPI, theirs),
		Reach: ofOpenMPI("≥", mpiRateReach), Aim: ofOpenMPI("≥", mpiRateAim),
		Verdict: judgeMore(ratio(our, theirs), mpiRateReach, mpiRateAim),
	}
}

// mpiAddRow is the cost of package mpi in addition to bmi: the median of the differences in
// each round, in which they run one after the other.
func mpiAddRow(all *results) row {
	added := 1e3 * difference(all, oursMPI, ours, perf.Latency, rateSize)
	text := fmt.Sprintf("≤ %.0f ns", mpiAddReach)
	return row{
		What: mpiRowsPrefix + "added to the 8 B half round trip of bmi",
		Value: measured(added, "%.0f ns") +
			besideOf(value(all, oursMPI, perf.Latency, rateSize), value(all, ours, perf.Latency, rateSize), "mpi %.3f µs", "bmi %.3f µs"),
		Reach: text, Aim: text, Verdict: judge(added, mpiAddReach, mpiAddReach),
	}
}

// difference is the median over rounds of one contender's value minus another's; NaN if not
// both were measured in all rounds.
func difference(all *results, one, other string, test perf.Test, size int) float64 {
	a, b := all.values[pointID{one, test, size}], all.values[pointID{other, test, size}]
	if len(a) == 0 || len(a) != len(b) {
		return math.NaN()
	}
	more := make([]float64, len(a))
	for i := range a {
		more[i] = a[i].Median - b[i].Median
	}
	return median(more)
}

func mpiSortRow(all *results) row {
	const size = sortRecords * sortRecordBytes
	our, theirs := value(all, sortName(oursMPI), sampleSort, size), value(all, sortName(openMPI), sampleSort, size)
	names := []string{sortName(openMPI), sortName(mpich)}
	method, least := best(all, names, sampleSort, size, false)
	text := ofOpenMPI("≤", mpiSortReach)
	return row{
		What:  fmt.Sprintf("%ssample sort of %s, %d processes on 2 cores", mpiRowsPrefix, perf.FormatSize(size), sortRanks),
		Value: measured(our, "%.3f s"),
		Best:  againstBest(our, method, least, "%.3f s") + besides(our, method, sortName(openMPI), theirs),
		Reach: text, Aim: text, Verdict: judge(ratio(our, theirs), mpiSortReach, mpiSortReach),
	}
}
