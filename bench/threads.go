package main

import (
	"context"
	"fmt"
	"math"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// groupThreads is the part, for -only, with many goroutines.
const groupThreads = "threads"

// threadsMany is the number of goroutines on each side.
const threadsMany = 32

// threads is the contender that exchanges messages from many goroutines, with its tests.
const (
	threads                  = "via+shm threads"
	threadsOne     perf.Test = "threads-one"    // one goroutine
	threadsOwn     perf.Test = "threads-own"    // many, with a context each
	threadsSharing perf.Test = "threads-shared" // many, with one context
)

// threadsContender runs exchanges between two processes: every goroutine with its twin.
func threadsContender(cfg config) contender {
	return contender{name: threads, run: func(ctx context.Context) ([]perf.Result, error) {
		var all []perf.Result
		for _, part := range []struct {
			test       perf.Test
			goroutines int
			shared     bool
		}{{threadsOne, 1, true}, {threadsOwn, threadsMany, false}, {threadsSharing, threadsMany, true}} {
			line := onCores(cfg, exchangeLine(cfg, part.goroutines, part.shared)...)
			out, err := command(ctx, nil, line[0], line[1:]...)
			if err != nil {
				return nil, err
			}
			got, err := parseResults(out)
			if err != nil {
				return nil, err
			}
			got[0].Test = part.test
			all = append(all, got[0])
		}
		return all, nil
	}}
}

// The mark of many goroutines: their messages a second, relative to those of one.
const (
	threadsReach      = 1.0
	threadsRowsPrefix = "threads: "
)

// threadsRow has the mark for goroutines with contexts of their own. The number with one
// context for all is shown next to it.
func threadsRow(all *results) row {
	one, own, shared := value(all, threads, threadsOne, rateSize), value(all, threads, threadsOwn, rateSize), value(all, threads, threadsSharing, rateSize)
	gain := againstOneGoroutine(all, threadsOwn)
	text := mark("≥", threadsReach, "one goroutine")
	r := row{
		What:  fmt.Sprintf("%s8 B messages of %d goroutines with a context each", threadsRowsPrefix, threadsMany),
		Value: measured(own/1e6, "%.2f million/s"),
		Reach: text, Aim: text, Verdict: judgeMore(gain, threadsReach, threadsReach),
	}
	if !math.IsNaN(own) {
		r.Value += fmt.Sprintf(", %s of one goroutine (%.2f million/s); one context for all %.2f million/s, %s",
			times(gain), one/1e6, shared/1e6, times(againstOneGoroutine(all, threadsSharing)))
	}
	return r
}

// againstOneGoroutine is the median over rounds of a test's messages a second, relative to those
// of one goroutine in the same round; NaN if nothing was measured.
func againstOneGoroutine(all *results, test perf.Test) float64 {
	one, many := all.values[pointID{threads, threadsOne, rateSize}], all.values[pointID{threads, test, rateSize}]
	if len(one) == 0 {
		return math.NaN()
	}
	ratios := make([]float64, len(one))
	for i := range one {
		ratios[i] = ratio(many[i].Median, one[i].Median)
	}
	return median(ratios)
}
