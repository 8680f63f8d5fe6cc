package main

import (
	"fmt"
	"math"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// A row is one line of the table of aims.
type row struct {
	What  string `json:"what"`
	Value string `json:"value"`
	// Bare and Best are comparisons with the limit of the machine and with the
	// best of the other libraries; "" where that makes no sense.
	Bare    string `json:"against_bare,omitempty"`
	Best    string `json:"against_best,omitempty"`
	Reach   string `json:"reach"`
	Aim     string `json:"aim"`
	Verdict string `json:"verdict"`
}

// Verdicts.
const (
	isAim     = "aim"
	isReach   = "reach"
	isMissed  = "missed"
	isUnknown = "not measured"
)

// judge compares a number, for which less is better, with both marks.
func judge(value, reach, aim float64) string {
	switch {
	case math.IsNaN(value) || math.IsInf(value, 0):
		return isUnknown
	case value <= aim:
		return isAim
	case value <= reach:
		return isReach
	}
	return isMissed
}

// judgeMore is judge for a number for which more is better.
func judgeMore(value, reach, aim float64) string { return judge(-value, -reach, -aim) }

// ratio is a over b; NaN if one is missing.
func ratio(a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return math.NaN()
	}
	return a / b
}

func times(r float64) string {
	if math.IsNaN(r) {
		return ""
	}
	return fmt.Sprintf("%.2f ×", r)
}

// mark is the text of a mark relative to somebody's number.
func mark(sign string, times float64, of string) string {
	if times == 1 {
		return sign + " " + of
	}
	return fmt.Sprintf("%s %g × %s", sign, times, of)
}

// rows makes the table of aims.
func rows(all *results, c counts) []row {
	out := append(viaSmallRows(all), largeRow(all, 64<<10, mediumReach), largeRow(all, 1<<20, largeReach))
	out = append(out, countRows(c)...)
	out = append(out, crowdRow(all))
	out = append(out, tcpRows(all, c)...)
	out = append(out, udpRows(all, c)...)
	out = append(out, pluginRows(all)...)
	out = append(out, mpiRows(all)...)
	out = append(out, oversubscribedRows(all)...)
	out = append(out, oneSidedRows(all)...)
	out = append(out, fileRows(all)...)
	out = append(out, startRows(all)...)
	out = append(out, threadsRow(all), hostsRow(all))
	out = append(out, checkpointRows(all)...)
	return append(out, pvfsRows(all, c)...)
}

// others are the other libraries within one host, and over TCP.
var (
	others    = []string{openMPI, mpich, ucx, libfabric}
	othersTCP = []string{openMPITCP, mpichTCP, ucxTCP, libfabricTCP}
)

// best is the best of some libraries at a point; more says that larger values are
// better.
func best(all *results, names []string, test perf.Test, size int, more bool) (method string, value float64) {
	value = math.NaN()
	for _, name := range names {
		v, ok := all.get(name, test, size)
		if ok && (method == "" || more && v > value || !more && v < value) {
			method, value = name, v
		}
	}
	return method, value
}

func value(all *results, method string, test perf.Test, size int) float64 {
	v, ok := all.get(method, test, size)
	if !ok {
		return math.NaN()
	}
	return v
}

func measured(v float64, format string) string {
	if math.IsNaN(v) {
		return isUnknown
	}
	return fmt.Sprintf(format, v)
}

// againstBest names the best library, and compares ours with it.
func againstBest(our float64, method string, theirs float64, format string) string {
	if method == "" {
		return notInstalled
	}
	if math.IsNaN(our) {
		return fmt.Sprintf("%s "+format, method, theirs)
	}
	return fmt.Sprintf("%s of %s ("+format+")", times(ratio(our, theirs)), method, theirs)
}

// besides adds a comparison with one library that need not be the best.
func besides(our float64, best, method string, theirs float64) string {
	r := ratio(our, theirs)
	if math.IsNaN(r) || method == best {
		return ""
	}
	return fmt.Sprintf("; %s of %s", times(r), method)
}

// The marks of large messages in plain memory, relative to the best of the other
// libraries.
const (
	mediumReach = 0.8 // 64 KiB
	largeReach  = 1.0 // 1 MiB
	largeAim    = 0.6 // both
)

func largeRow(all *results, size int, reach float64) row {
	our := value(all, ours, perf.Latency, size)
	limit := value(all, bare, perf.LimitMemcpy, size)
	method, theirs := best(all, others, perf.Latency, size, false)
	return row{
		What: perf.FormatSize(size) + " half round trip, plain memory", Value: measured(our, "%.2f µs"),
		Bare:  fmt.Sprintf("%s (%s)", times(ratio(our, limit)), measured(limit, "%.2f µs")),
		Best:  againstBest(our, method, theirs, "%.2f µs"),
		Reach: mark("≤", reach, "the best"), Aim: mark("≤", largeAim, "the best"),
		Verdict: judge(ratio(our, theirs), reach, largeAim),
	}
}

// orNaN returns the number, or NaN if it was not measured.
func orNaN(p *float64) float64 {
	if p == nil {
		return math.NaN()
	}
	return *p
}

func countRows(c counts) []row {
	allocs, match := orNaN(c.AllocsPerMessage), orNaN(c.MatchRatio)
	connected, known := orNaN(c.ConnectedBytes), orNaN(c.KnownBytes)
	return []row{
		{
			What: "allocations per 8 B message, post to completion", Value: measured(allocs, "%.2f"),
			Reach: "0", Aim: "0", Verdict: judge(allocs, 0, 0),
		},
		{
			What: "match with 1,000,000 queued entries against 1", Value: measured(match, "%.2f ×"),
			Reach: "≤ 2 ×", Aim: "≤ 1.3 ×", Verdict: judge(match, 2, 1.3),
		},
		{
			What: "memory per connected idle peer", Value: measured(connected/1024, "%.1f KiB"),
			Reach: "≤ 64 KiB", Aim: "≤ 32 KiB", Verdict: judge(connected, 64<<10, 32<<10),
		},
		{
			What: "memory per known unconnected peer", Value: measured(known, "%.0f B"),
			Reach: "≤ 1 KiB", Aim: "≤ 512 B", Verdict: judge(known, 1<<10, 512),
		},
	}
}

func crowdRow(all *results) row {
	our := value(all, crowd, crowdTest(shapeAll), rateSize)
	// A pipe ping-pong with as many processes on the same cores. The ping-pong of
	// two processes alone mostly measures the wake-up of a sleeping core, not the
	// cost of a message; the same exchange through pipes has no turns to wait
	// for. Both are shown beside it.
	pingPong := value(all, pipes, crowdTest(shapePairs), rateSize)
	best := "no C compiler"
	if !math.IsNaN(pingPong) {
		best = fmt.Sprintf("%s of a pipe ping-pong of as many (%.2f µs); pipes all to all: %.2f µs; pipe ping-pong of two: %.2f µs",
			times(ratio(our, pingPong)), pingPong, value(all, pipes, crowdTest(shapeAll), rateSize), value(all, pipes, perf.Latency, rateSize))
	}
	return row{
		What:  fmt.Sprintf("%d processes all exchanging on 2 cores, per message", crowdSize),
		Value: measured(our, "%.3f µs"), Best: best,
		Reach: "≤ 3 × pipe ping-pong", Aim: "< pipe ping-pong", Verdict: judge(ratio(our, pingPong), 3, 1),
	}
}
