package datatype_test

import (
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/datatype"
)

// bytesOf lists the offset of every packed byte of a type map.
func (m model) byteOffsets() (offs []int) {
	for _, l := range m.leaves {
		for i := range l.size {
			offs = append(offs, l.disp+i)
		}
	}
	return offs
}

// TestRuns compares the runs of any part of random types, and their order, with their type maps.
func TestRuns(t *testing.T) {
	for seed := range uint64(seedsPerRun / 5) {
		r := generator(seed)
		g := generate(r, between(r, 0, 4))
		offs := g.m.byteOffsets()
		for range 4 {
			from := r.IntN(len(offs) + 1)
			end := from + r.IntN(len(offs)-from+1)
			var got []int
			for run := range g.t.Runs(from, end) {
				require.Positive(t, run.Len)
				require.Positive(t, run.Count)
				for i := range run.Count {
					for k := range run.Len {
						got = append(got, run.Off+i*run.Stride+k)
					}
				}
			}
			require.Equal(t, append([]int(nil), offs[from:end]...), got, "bytes %d to %d of %s, seed %d", from, end, g.text, seed)
		}
		weak, strict := g.t.Ascending()
		require.Equal(t, sort.SliceIsSorted(g.m.leaves, func(i, j int) bool { return g.m.leaves[i].disp < g.m.leaves[j].disp }),
			weak, "weakly ascending: %s, seed %d", g.text, seed)
		require.Equal(t, sort.IntsAreSorted(offs) && !g.m.overlaps(), strict, "strictly ascending: %s, seed %d", g.text, seed)
		if strict && len(offs) > 0 {
			for off := offs[0] - 2; off < offs[len(offs)-1]+3; off++ {
				require.Equal(t, sort.SearchInts(offs, off), g.t.Below(off), "bytes below %d of %s, seed %d", off, g.text, seed)
			}
		}
	}
}

// TestRunsOfPattern: a regular type is one group of runs, however large it is.
func TestRunsOfPattern(t *testing.T) {
	v, err := datatype.Vector(1<<30, 2, 5, datatype.Float64)
	require.NoError(t, err)
	var got []datatype.Runs
	for run := range v.Runs(8, 16*(1<<30)-8) {
		got = append(got, run)
	}
	require.Equal(t, []datatype.Runs{
		{Off: 8, Len: 8, Count: 1},
		{Off: 40, Len: 16, Stride: 40, Count: 1<<30 - 2},
		{Off: 40 * (1<<30 - 1), Len: 8, Count: 1},
	}, got)
}
