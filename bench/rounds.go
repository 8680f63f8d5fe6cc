package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// pointID names a measured point of a contender.
type pointID struct {
	method string
	test   perf.Test
	size   int
}

// results collects one value per point and round.
type results struct {
	values map[pointID][]perf.Result
	// failures has, for a contender that cannot take part or failed, the reason.
	failures map[string]string
}

func newResults() *results {
	return &results{values: make(map[pointID][]perf.Result), failures: make(map[string]string)}
}

// round runs every contender once. Each round starts with a different one, so that none
// always runs after the same one, or at the same temperature of the machine.
func (r *results) round(ctx context.Context, contenders []contender, number int) error {
	for i := range contenders {
		r.add(ctx, contenders[(i+number)%len(contenders)])
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// add runs a contender once. One that failed does not run again: the table then
// shows the reason instead of a mixture of rounds.
func (r *results) add(ctx context.Context, c contender) {
	if c.missing != "" {
		r.failures[c.name] = c.missing
	}
	if r.failures[c.name] != "" {
		return
	}
	got, err := c.run(ctx)
	if err != nil {
		r.failures[c.name] = fmt.Sprintf("failed: %v", err)
		fmt.Fprintf(os.Stderr, "bench: %s: %v\n", c.name, err)
		return
	}
	for _, one := range got {
		id := pointID{c.name, one.Test, one.Size}
		r.values[id] = append(r.values[id], one)
	}
}

// merge appends the rounds of another one.
func (r *results) merge(other *results) {
	for id, values := range other.values {
		r.values[id] = append(r.values[id], values...)
	}
	maps.Copy(r.failures, other.failures)
}

// A point is a measured point over all rounds.
type point struct {
	perf.Result
	// Rounds are the medians of the rounds, and Median is their median; P99 is
	// the median of the rounds' P99.
	Rounds []float64 `json:"rounds"`
}

func (r *results) points() []point {
	ids := slices.SortedFunc(maps.Keys(r.values), func(a, b pointID) int {
		return cmp.Or(cmp.Compare(a.test, b.test), cmp.Compare(a.method, b.method), cmp.Compare(a.size, b.size))
	})
	out := make([]point, 0, len(ids))
	for _, id := range ids {
		out = append(out, r.point(id))
	}
	return out
}

func (r *results) point(id pointID) point {
	all := r.values[id]
	p := point{Result: all[0]}
	p.Method = id.method
	var worst []float64
	for _, one := range all {
		p.Rounds = append(p.Rounds, one.Median)
		worst = append(worst, one.P99)
	}
	p.Median, p.P99 = median(p.Rounds), median(worst)
	return p
}

// get returns the median of a point, and whether it was measured.
func (r *results) get(method string, test perf.Test, size int) (float64, bool) {
	id := pointID{method, test, size}
	if len(r.values[id]) == 0 {
		return 0, false
	}
	return r.point(id).Median, true
}

// notes are the reasons of the missing contenders.
func (r *results) notes() map[string]string { return maps.Clone(r.failures) }

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}
