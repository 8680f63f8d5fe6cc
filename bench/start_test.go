package main

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

func TestStartRowsOfKnownNumbers(t *testing.T) {
	all := newResults()
	for name, got := range map[string][]perf.Result{
		oursMPI: {{Test: startTime, Size: startSome, Median: 0.5}, {Test: startTime, Size: startMany, Median: 6}, {Test: startMemory, Size: startMany, Median: 3 << 20}},
		openMPI: {{Test: startTime, Size: startSome, Median: 10}},
		mpich:   {{Test: startTime, Size: startSome, Median: 5}},
	} {
		all.add(t.Context(), contender{name: startName(name), run: func(context.Context) ([]perf.Result, error) { return got, nil }})
	}
	assert.Equal(t, []row{
		{
			What: "start: 1000 ranks of hello on 2 processors, from start to end", Value: "6.0 s",
			Reach: "≤ 20 s", Aim: "≤ 5 s", Verdict: isReach,
		},
		{What: "start: memory of each of 1000 ranks (PSS)", Value: "3.0 MiB", Reach: "≤ 24 GiB together", Aim: "≤ 8 MiB", Verdict: isAim},
		{
			What: "start: 128 ranks of hello on 2 processors, from start to end", Value: "0.50 s",
			Best:  "20.00 × as fast as openmpi (10.00 s); 10.00 × as fast as mpich (5.00 s)",
			Reach: "≥ 1 × as fast as both", Aim: "≥ 1 × as fast as both", Verdict: isAim,
		},
	}, startRows(all))
	for _, r := range startRows(newResults()) {
		assert.Equal(t, isUnknown, r.Verdict)
	}
}

func TestParentOf(t *testing.T) {
	parent, err := parentOf(os.Getpid())
	require.NoError(t, err)
	assert.Equal(t, os.Getppid(), parent)
	assert.False(t, isRank(os.Getpid(), parent), "this is no waiting rank")
	_, err = parentOf(0)
	assert.Error(t, err)
}
