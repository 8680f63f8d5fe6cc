package main

import (
	"fmt"
	"math"
	"slices"
)

// The marks beside busy processes: the median and the worst of some runs, relative to Open
// MPI's; and the median apart from busy processes, relative to that without any.
const (
	busyMedianReach, busyWorstReach = 1.5, 5.0
	busyAim                         = 1.0 // both
	busyApartReach                  = 1.1
	busyRowsPrefix                  = "busy: "
)

// busyRows are the rows beside busy processes, and apart from them on processors of their own.
func busyRows(all *results, apart split) (out []row) {
	for _, n := range neighbourhoods() {
		for _, method := range []string{ours, oursMPI} {
			if !n.apart {
				out = append(out, besideRow(all, n, method))
			} else if n.busy > 0 {
				out = append(out, apartRow(all, n, method, apart))
			}
		}
	}
	return out
}

// A runRange is the middle and the end of some runs; NaN without runs.
type runRange struct{ median, worst float64 }

func rangeOf(runs []float64) runRange {
	if len(runs) == 0 {
		return runRange{math.NaN(), math.NaN()}
	}
	return runRange{median(runs), slices.Max(runs)}
}

func (s runRange) String() string {
	if math.IsNaN(s.median) {
		return isUnknown
	}
	return fmt.Sprintf("%.2f µs, worst %.2f µs", s.median, s.worst)
}

// againstOpenMPI compares the runs of a neighbourhood with those of Open MPI.
func againstOpenMPI(all *results, n neighbourhood, our runRange) (text string, theirs runRange) {
	theirs = rangeOf(n.runsOf(all, openMPI))
	if why := all.failures[n.name(openMPI)]; why != "" {
		return openMPI + ": " + why, theirs
	}
	if math.IsNaN(our.median) || math.IsNaN(theirs.median) {
		return "", theirs
	}
	return fmt.Sprintf("%.3g ×, worst %.3g ×, of %s (%v)", ratio(our.median, theirs.median), ratio(our.worst, theirs.worst), openMPI, theirs), theirs
}

func besideRow(all *results, n neighbourhood, method string) row {
	our := rangeOf(n.runsOf(all, method))
	text, theirs := againstOpenMPI(all, n, our)
	return row{
		What:  fmt.Sprintf("%s8 B half round trip, %s, beside %d busy", busyRowsPrefix, method, n.busy),
		Value: our.String(), Best: text,
		Reach: fmt.Sprintf("%s, worst ≤ %g ×", ofOpenMPI("≤", busyMedianReach), busyWorstReach),
		Aim:   fmt.Sprintf("%s, worst, too", ofOpenMPI("≤", busyAim)),
		Verdict: worse(
			judge(ratio(our.median, theirs.median), busyMedianReach, busyAim),
			judge(ratio(our.worst, theirs.worst), busyWorstReach, busyAim)),
	}
}

// worse is the worse one of two verdicts.
func worse(a, b string) string {
	order := []string{isAim, isReach, isMissed, isUnknown}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

func apartRow(all *results, n neighbourhood, method string, apart split) row {
	our, alone := rangeOf(n.runsOf(all, method)), rangeOf(neighbourhood{apart: true}.runsOf(all, method))
	text, _ := againstOpenMPI(all, n, our)
	reach := mark("≤", busyApartReach, "without busy ones")
	r := ratio(our.median, alone.median)
	return row{
		What:  fmt.Sprintf("%s8 B half round trip, %s, %d busy, %v", busyRowsPrefix, method, n.busy, apart),
		Value: fmt.Sprintf("%v; %s of %s without busy ones", our, times(r), measured(alone.median, "%.2f µs")), Best: text,
		Reach: reach, Aim: reach, Verdict: judge(r, busyApartReach, busyApartReach),
	}
}
