package main

import (
	"context"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

// A state is the place of the two processors of the comparison. On a virtual machine the
// hypervisor changes it every few minutes, and every number of small messages with it:
// docs/performance/README.md, "One core or two".
type state string

// The states.
const (
	oneCore  state = "one core"  // two threads of it
	twoCores state = "two cores" // between which a cache line moves
	// changed is a time in which it was not the same throughout, or cannot be told.
	changed state = "changed"
)

// bothStates are those in which there is something to measure.
var bothStates = []state{oneCore, twoCores}

// The half round trip of a bare cache line in each state, in microseconds. It is about 0.04
// and 0.18; a value in between belongs to neither.
const (
	oneCoreMax  = 0.07
	twoCoresMin = 0.10
)

// stateOf is the state in which all of some half round trips of a bare cache line were
// measured.
func stateOf(bounces ...float64) state {
	switch {
	case len(bounces) == 0:
		return changed
	case slices.Max(bounces) <= oneCoreMax:
		return oneCore
	case slices.Min(bounces) >= twoCoresMin:
		return twoCores
	}
	return changed
}

// lookTime is how long the bounce is measured to tell the state.
const lookTime = 10 * time.Millisecond

// bounceNow measures the half round trip of a bare cache line, in microseconds.
func bounceNow(ctx context.Context, cfg config) (float64, error) {
	cfg.point = lookTime
	got, err := perfCommand(ctx, cfg, plain(ours), "--tests", string(perf.LimitBounce))
	if err != nil {
		return 0, err
	}
	return got[0].Median, nil
}

// within runs something and returns the state in which it ran.
func within(ctx context.Context, look func(context.Context) (float64, error), run func() error) (state, error) {
	before, err := look(ctx)
	if err != nil {
		return changed, err
	}
	if err := run(); err != nil {
		return changed, err
	}
	after, err := look(ctx)
	if err != nil {
		return changed, err
	}
	return stateOf(before, after), nil
}
