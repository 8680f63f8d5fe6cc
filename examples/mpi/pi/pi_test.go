package main

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/job"
)

func TestPi(t *testing.T) {
	b := job.Build(t)
	for _, s := range job.Settings() {
		t.Run(s.String(), func(t *testing.T) {
			out := b.MustRun(t, s, "-strips", "100003")
			word, _, ok := strings.Cut(strings.TrimPrefix(out, "pi: "), ",")
			require.True(t, ok, out)
			got, err := strconv.ParseFloat(word, 64)
			require.NoError(t, err, out)
			assert.InDelta(t, math.Pi, got, 1e-10, out)
		})
	}
	assert.Contains(t, b.MustFail(t, job.Setting{N: 2, Method: "via+shm"}, "-strips", "0"), "give at least one strip")
}

// TestStripsAreDividedWithoutGaps: with few strips, a missing one is noticed.
func TestStripsAreDividedWithoutGaps(t *testing.T) {
	for _, processes := range []int{1, 2, 3, 7, 20} {
		sum := 0.0
		for rank := range processes {
			sum += area(10, rank, processes)
		}
		assert.InDelta(t, area(10, 0, 1), sum, 1e-12)
	}
}
