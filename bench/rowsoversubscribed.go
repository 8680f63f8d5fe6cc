package main

import (
	"fmt"
	"math"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// The marks with more ranks than processors: how often as fast as the best of the others.
const (
	manyReach                = 1.0
	manyHeatReach            = 5.0
	manyHeatAim              = 10.0
	oversubscribedRowsPrefix = "oversubscribed: "
)

// oversubscribedRows are the rows of four ranks on two processors.
func oversubscribedRows(all *results) []row {
	return []row{
		manyRow(all, "8 B all to all", alltoall, rateSize, "%.1f µs", manyReach, manyReach),
		manyRow(all, "barrier", barrier, 0, "%.1f µs", manyReach, manyReach),
		manyRow(all, "8 B allreduce", allreduce, allreduceSize, "%.1f µs", manyReach, manyReach),
		manyRow(all, fmt.Sprintf("heat, %d × %d cells, %d steps", heatRows, heatCols, heatSteps), heat, 0, "%.3f s", manyHeatReach, manyHeatAim),
	}
}

// manyRow compares times by how often as fast ours is: with the best of the others, and with
// each of them.
func manyRow(all *results, what string, test perf.Test, size int, format string, reach, aim float64) row {
	our := value(all, manyName(oursMPI), test, size)
	r := row{
		What: fmt.Sprintf("%s%s, %d ranks on 2 processors", oversubscribedRowsPrefix, what, manyRanks), Value: measured(our, format), Best: notInstalled,
		Reach: fasterThan("both", reach), Aim: fasterThan("both", aim), Verdict: isUnknown,
	}
	method, least := best(all, []string{manyName(openMPI), manyName(mpich)}, test, size, false)
	if method == "" || math.IsNaN(our) {
		return r
	}
	r.Best = ""
	for _, name := range []string{openMPI, mpich, openMPIPolling} {
		theirs := value(all, manyName(name), test, size)
		if math.IsNaN(theirs) {
			continue
		}
		if r.Best != "" {
			r.Best += "; "
		}
		r.Best += fmt.Sprintf("%s as fast as %s ("+format+")", times(ratio(theirs, our)), name, theirs)
	}
	r.Verdict = judgeMore(ratio(least, our), reach, aim)
	return r
}

// fasterThan is the text of a mark of speed.
func fasterThan(whom string, times float64) string {
	return fmt.Sprintf("≥ %g × as fast as %s", times, whom)
}
