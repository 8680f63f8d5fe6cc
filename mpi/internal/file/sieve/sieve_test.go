package sieve

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/internal/file/ranges"
)

// spans are ranges. Adjacent ranges are joined.
type spans struct {
	bytes int64
	all   [][2]int64
}

func (s *spans) add(off, length int64) {
	s.bytes += length
	if n := len(s.all); n > 0 && s.all[n-1][1] == off {
		s.all[n-1][1] += length
		return
	}
	s.all = append(s.all, [2]int64{off, off + length})
}

// TestPlan: the steps are the list, in order, and those that are sieved are short enough.
func TestPlan(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		var l ranges.List
		at := int64(0)
		for range r.IntN(10) {
			at += r.Int64N(1 << r.IntN(18))
			run := ranges.Run{Off: at, Len: 1 + r.Int64N(1<<r.IntN(18)), Count: 1 + r.Int64N(20)}
			run.Stride = run.Len + r.Int64N(1<<r.IntN(16))
			l.Add(run)
			at = max(0, run.End()-r.Int64N(2)*r.Int64N(100)) // at times it does not ascend
		}
		buffer, always := int64(4096+r.IntN(100_000)), r.IntN(2) == 0
		var got spans
		for step := range Plan(l, buffer, always) {
			require.Equal(t, got.bytes, step.Pos)
			require.NotEmpty(t, step.List)
			low, high := step.List.Hull()
			if step.Whole {
				require.LessOrEqual(t, high-low, buffer)
				require.Greater(t, step.List.Count(), int64(1))
				require.True(t, always || (high-low)/step.List.Count() <= shortMax+apartMax)
			}
			end := int64(0)
			for off, length := range step.List.All() {
				require.True(t, !step.Whole || off >= end, "sieved steps ascend")
				end = off + length
				got.add(off, length)
			}
		}
		var want spans
		for off, length := range l.All() {
			want.add(off, length)
		}
		require.Equal(t, want, got)
	}
}

// TestChoice: what is sieved.
func TestChoice(t *testing.T) {
	plan := func(always bool, runs ...ranges.Run) (whole []bool) {
		for step := range Plan(runs, 1<<20, always) {
			whole = append(whole, step.Whole)
		}
		return whole
	}
	assert.Equal(t, []bool{true}, plan(false, ranges.Run{Off: 0, Len: 8, Stride: 24, Count: 1000}), "many that are close")
	assert.Equal(t, []bool{false}, plan(false, ranges.Run{Off: 0, Len: 1 << 17, Stride: 1 << 18, Count: 1000}), "long ones")
	assert.Equal(t, []bool{false, false}, plan(false, ranges.Run{Off: 0, Len: 8, Stride: 1 << 20, Count: 2}), "far apart")
	assert.Equal(t, []bool{true}, plan(true, ranges.Run{Off: 0, Len: 8, Stride: 1 << 18, Count: 3}), "far apart, but asked for")
	assert.Equal(t, []bool{false}, plan(true, ranges.One(0, 8)), "one range")
	assert.Equal(t, []bool{false}, plan(true, ranges.One(0, 1<<21)), "longer than the buffer")
}
