package main

import (
	"fmt"
	"math"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// The marks of one-sided operations, relative to the best of the other MPIs, and of a message in
// partitions, relative to the same message sent at once.
const (
	smallPutReach, smallPutAim       = 1.2, 0.8
	largePutReach, largePutAim       = 1.0, 0.7
	fenceReach, fenceAim             = 1.5, 1.0
	tcpPutReach, tcpPutAim           = 1.0, 0.7
	partitionedReach, partitionedAim = 1.3, 1.1
	oneSidedRowsPrefix               = "one-sided: "
)

// oneSidedRows are the rows of one-sided operations and partitioned messages.
func oneSidedRows(all *results) []row {
	return []row{
		oneSidedRow(all, "8 B put and flush", put, rateSize, smallPutReach, smallPutAim),
		oneSidedRow(all, "8 B get and flush", get, rateSize, smallPutReach, smallPutAim),
		oneSidedRow(all, "8 B fetch_and_op and flush", fetchAndOp, rateSize, smallPutReach, smallPutAim),
		oneSidedRow(all, perf.FormatSize(mpiLargeSize)+" put and flush", put, mpiLargeSize, largePutReach, largePutAim),
		oneSidedRow(all, "8 B put between fences", fence, rateSize, fenceReach, fenceAim),
		oneSidedTCPRow(all),
		partitionedRow(all),
	}
}

func oneSidedRow(all *results, what string, test perf.Test, size int, reach, aim float64) row {
	our := value(all, oneSidedName(oursMPI), test, size)
	method, least := best(all, []string{oneSidedName(openMPI), oneSidedName(mpich)}, test, size, false)
	return row{
		What: oneSidedRowsPrefix + what, Value: measured(our, "%.3f µs"), Best: againstBest(our, method, least, "%.3f µs"),
		Reach: mark("≤", reach, "the best"), Aim: mark("≤", aim, "the best"), Verdict: judge(ratio(our, least), reach, aim),
	}
}

func oneSidedTCPRow(all *results) row {
	our := value(all, oneSidedName(oursMPITCP), put, rateSize)
	method, theirs := best(all, []string{oneSidedName(openMPITCP)}, put, rateSize, false)
	return row{
		What: oneSidedRowsPrefix + "8 B put and flush over TCP", Value: measured(our, "%.2f µs"), Best: againstBest(our, method, theirs, "%.2f µs"),
		Reach: mark("≤", tcpPutReach, label(openMPITCP)), Aim: mark("≤", tcpPutAim, label(openMPITCP)),
		Verdict: judge(ratio(our, theirs), tcpPutReach, tcpPutAim),
	}
}

// partitionedRow compares a message in partitions with the same one sent at once, in the same run.
func partitionedRow(all *results) row {
	of := func(mpi string) float64 {
		return ratio(value(all, oneSidedName(mpi), partitioned, mpiLargeSize), value(all, oneSidedName(mpi), perf.Latency, mpiLargeSize))
	}
	our := value(all, oneSidedName(oursMPI), partitioned, mpiLargeSize)
	r := row{
		What:  fmt.Sprintf("%s%d partitions of %s", oneSidedRowsPrefix, partitions, perf.FormatSize(mpiLargeSize/partitions)),
		Value: measured(our, "%.2f µs"),
		Reach: mark("≤", partitionedReach, "one message"), Aim: mark("≤", partitionedAim, "one message"),
		Verdict: judge(of(oursMPI), partitionedReach, partitionedAim),
	}
	if !math.IsNaN(our) {
		r.Value += fmt.Sprintf(", %s of one message", times(of(oursMPI)))
	}
	if theirs := value(all, oneSidedName(mpich), partitioned, mpiLargeSize); !math.IsNaN(theirs) {
		r.Best = fmt.Sprintf("%s of %s (%.2f µs, %s of one message)", times(ratio(our, theirs)), oneSidedName(mpich), theirs, times(of(mpich)))
	}
	return r
}
