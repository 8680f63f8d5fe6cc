package main

import (
	"fmt"
	"math"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// The marks of small messages: relative to the bounce of a cache line, to Open MPI, and to
// the best of the other libraries.
const (
	bounceReach, bounceAim           = 2.0, 1.4
	smallOpenReach, smallOpenAim     = 1.1, 0.9
	smallBestReach, smallBestAim     = 1.1, 0.9
	messageRateReach, messageRateAim = 1.0, 1.25 // of messages a second, at least
)

// smallRows are the rows whose numbers depend most on the state of the two processors.
func smallRows(all *results) []row { return append(viaSmallRows(all), mpiSmallRows(all)...) }

// viaSmallRows are those of bmi over via+shm.
func viaSmallRows(all *results) []row {
	return []row{
		latencyRow(all), latencyOpenMPIRow(all),
		bestRow(all, "", ours, others, 64), bestRow(all, "", ours, others, 1<<10),
		rateRow(all),
	}
}

func latencyRow(all *results) row {
	our := value(all, ours, perf.Latency, rateSize)
	limit := value(all, bare, perf.LimitBounce, 0)
	method, theirs := best(all, others, perf.Latency, rateSize, false)
	return row{
		What: "8 B half round trip", Value: measured(our, "%.3f µs"),
		Bare:  fmt.Sprintf("%s (%s)", times(ratio(our, limit)), measured(limit, "%.3f µs")),
		Best:  againstBest(our, method, theirs, "%.3f µs"),
		Reach: mark("≤", bounceReach, "bare"), Aim: mark("≤", bounceAim, "bare"),
		Verdict: judge(ratio(our, limit), bounceReach, bounceAim),
	}
}

func latencyOpenMPIRow(all *results) row {
	our, theirs := value(all, ours, perf.Latency, rateSize), value(all, openMPI, perf.Latency, rateSize)
	return row{
		What: "8 B half round trip, against Open MPI", Value: measured(our, "%.3f µs"),
		Best:  againstOne(our, openMPI, theirs, "%.3f µs"),
		Reach: ofOpenMPI("≤", smallOpenReach), Aim: ofOpenMPI("≤", smallOpenAim),
		Verdict: judge(ratio(our, theirs), smallOpenReach, smallOpenAim),
	}
}

// bestRow compares a half round trip of some bytes with the best of other libraries.
func bestRow(all *results, prefix, our string, others []string, size int) row {
	us := value(all, our, perf.Latency, size)
	method, theirs := best(all, others, perf.Latency, size, false)
	return row{
		What: prefix + perf.FormatSize(size) + " half round trip", Value: measured(us, "%.3f µs"),
		Best:  againstBest(us, method, theirs, "%.3f µs"),
		Reach: mark("≤", smallBestReach, "the best"), Aim: mark("≤", smallBestAim, "the best"),
		Verdict: judge(ratio(us, theirs), smallBestReach, smallBestAim),
	}
}

func rateRow(all *results) row {
	our := value(all, ours, perf.Rate, rateSize)
	mpi := value(all, openMPI, perf.Rate, rateSize)
	method, theirs := best(all, others, perf.Rate, rateSize, true)
	return row{
		What: fmt.Sprintf("8 B message rate, window %d", rateWindow), Value: measured(our/1e6, "%.2f million/s"),
		Best:  againstBest(our/1e6, method, theirs/1e6, "%.2f million/s") + besides(our, method, openMPI, mpi),
		Reach: ofOpenMPI("≥", messageRateReach), Aim: ofOpenMPI("≥", messageRateAim),
		Verdict: judgeMore(ratio(our, mpi), messageRateReach, messageRateAim),
	}
}

// againstOne compares with a library that need not have been measured.
func againstOne(our float64, method string, theirs float64, format string) string {
	if math.IsNaN(theirs) {
		method = ""
	}
	return againstBest(our, method, theirs, format)
}
