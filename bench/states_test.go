package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/perf"
)

func TestStateOf(t *testing.T) {
	for _, tc := range []struct {
		want    state
		bounces []float64
	}{
		{oneCore, []float64{0.04, 0.042}},
		{oneCore, []float64{oneCoreMax}},
		{twoCores, []float64{0.18, 0.25}},
		{twoCores, []float64{twoCoresMin}},
		{changed, []float64{0.04, 0.18}},
		{changed, []float64{0.18, 0.04}},
		{changed, []float64{0.08, 0.08}}, // between the states
		{changed, nil},
	} {
		assert.Equal(t, tc.want, stateOf(tc.bounces...), tc.bounces)
	}
}

// bounces answers looks in turn, the last one for ever.
func bounces(us ...float64) func(context.Context) (float64, error) {
	return func(context.Context) (float64, error) {
		v := us[0]
		if len(us) > 1 {
			us = us[1:]
		}
		return v, nil
	}
}

// smallFakes are rounds in which a message takes 1, 2, 3, ... µs.
func smallFakes(look func(context.Context) (float64, error), pause func(context.Context, time.Duration) error) *smallRounds {
	round := 0.0
	counting := contender{name: ours, run: func(context.Context) ([]perf.Result, error) {
		round++
		return []perf.Result{{Test: perf.Latency, Size: rateSize, Median: round, Unit: perf.UnitMicros}}, nil
	}}
	return &smallRounds{
		contenders: []contender{counting, absent(ucx, notInstalled)}, look: look, pause: pause,
		by: map[state]*results{oneCore: newResults(), twoCores: newResults()}, rounds: make(map[state]int), failures: make(map[string]string),
	}
}

func TestSmallRoundsAreKeptByState(t *testing.T) {
	s := smallFakes(bounces(0.04, 0.04, 0.041, 0.04, 0.18, 0.18, 0.18, 0.18, 0.19), nil)
	for range 3 {
		require.NoError(t, s.round(t.Context()))
	}
	var r stateReport
	r.add(s)
	assert.Equal(t, 1, r.Dropped, "the second round, which ends before ours runs")
	require.Len(t, r.Small, 2)
	assert.Equal(t, []float64{1}, r.Small[0].Points[0].Rounds)
	assert.Equal(t, []float64{2}, r.Small[1].Points[0].Rounds)
	assert.Equal(t, "2.000 µs", r.Small[1].Rows[0].Value)
	assert.Equal(t, map[string]string{ucx: notInstalled}, s.failures)

	text := r.markdown()
	assert.Contains(t, text, "## Small messages, one core\n\nMedians of 1 rounds")
	assert.Contains(t, text, "## Small messages, two cores\n\nMedians of 1 rounds")
	assert.Contains(t, text, "dropped, because the state changed in them: 1.")
}

func TestSmallRoundsWaitForTheOtherState(t *testing.T) {
	var waits []time.Duration
	wait := func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
	// A look and a round of three, then twice the wrong state, then the other one.
	s := smallFakes(bounces(0.04, 0.04, 0.04, 0.04, 0.04, 0.08, 0.18), wait)
	require.NoError(t, s.more(t.Context(), 1, 9, time.Hour))
	assert.Equal(t, map[state]int{oneCore: 1, twoCores: 1}, s.rounds)
	assert.Equal(t, []time.Duration{statePause, statePause}, waits)

	t.Run("not for more rounds than allowed", func(t *testing.T) {
		s := smallFakes(bounces(0.18), wait)
		require.NoError(t, s.more(t.Context(), 5, 3, time.Hour))
		assert.Equal(t, map[state]int{twoCores: 3}, s.rounds)
	})
	t.Run("not longer than allowed", func(t *testing.T) {
		s := smallFakes(bounces(0.18), wait)
		require.NoError(t, s.more(t.Context(), 5, 3, 0))
		assert.Empty(t, s.rounds)
		var r stateReport
		r.add(s)
		assert.Equal(t, 2, strings.Count(r.markdown(), "**Not met in this run**"))
	})
	t.Run("not without contenders", func(t *testing.T) {
		s := smallFakes(bounces(0.18), wait)
		s.contenders = nil
		require.NoError(t, s.more(t.Context(), 5, 3, time.Hour))
		require.NoError(t, s.round(t.Context()))
		var r stateReport
		r.add(s)
		assert.Empty(t, r.markdown())
	})
	t.Run("not after an end", func(t *testing.T) {
		over := errors.New("over")
		s := smallFakes(bounces(0.08), func(context.Context, time.Duration) error { return over })
		assert.ErrorIs(t, s.more(t.Context(), 5, 3, time.Hour), over)
		s.look = func(context.Context) (float64, error) { return 0, over }
		assert.ErrorIs(t, s.more(t.Context(), 5, 3, time.Hour), over)
		assert.ErrorIs(t, s.round(t.Context()), over)
	})
}

func TestRoundsSayInWhichStateTheyWere(t *testing.T) {
	r := &report{States: stateReport{Rounds: []state{oneCore, changed}, Busy: []string{"beside 1 busy: one core"}}}
	assert.Contains(t, r.markdown(), "The two processors in each round: one core, changed.\n")
	assert.Contains(t, r.markdown(), "The two processors in the runs with busy processes: beside 1 busy: one core.\n")
}

func TestPartsByName(t *testing.T) {
	for name := range rowsOfGroup {
		assert.NoError(t, checkGroup(name))
	}
	assert.NoError(t, checkGroup(""))
	assert.ErrorContains(t, checkGroup("nothing"), groupNames())
}
