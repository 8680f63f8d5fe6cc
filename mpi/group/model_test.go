package group

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// model is a group as one would explain it: the processes in a slice.
type model []int

func (m model) union(b model) model {
	out := slices.Clone(m)
	for _, p := range b {
		if !slices.Contains(m, p) {
			out = append(out, p)
		}
	}
	return out
}

func (m model) where(keep func(i, p int) bool) model {
	out := model{}
	for i, p := range m {
		if keep(i, p) {
			out = append(out, p)
		}
	}
	return out
}

func (m model) incl(ranks []int) model {
	out := model{}
	for _, r := range ranks {
		out = append(out, m[r])
	}
	return out
}

func (m model) compare(b model) Comparison {
	sorted := func(x model) model { return slices.Sorted(slices.Values(x)) }
	switch {
	case slices.Equal(m, b):
		return Ident
	case slices.Equal(sorted(m), sorted(b)):
		return Similar
	}
	return Unequal
}

// ranksOf expands ranges the slow way.
func ranksOf(ranges []Range) (out []int) {
	for _, r := range ranges {
		for i := r.First; r.Stride > 0 && i <= r.Last || r.Stride < 0 && i >= r.Last; i += r.Stride {
			out = append(out, i)
		}
	}
	return out
}

// pair is a group and its model.
type pair struct {
	g *Group[int]
	m model
}

// world are groups, each made of earlier ones by random operations, so that most share tables.
type world struct {
	t     *testing.T
	r     *rand.Rand
	pairs []pair
}

func (w *world) pick() pair { return w.pairs[w.r.IntN(len(w.pairs))] }

func (w *world) add(g *Group[int], err error, m model) {
	require.NoError(w.t, err)
	require.Equal(w.t, []int(m), g.Members())
	w.pairs = append(w.pairs, pair{g, m})
}

// ranges are random valid ranges of ranks, all different, below n.
func (w *world) ranges(n int) []Range {
	var out []Range
	free := make([]bool, n)
	for i := range free {
		free[i] = true
	}
	for range w.r.IntN(4) {
		r := Range{First: w.r.IntN(n), Stride: 1 + w.r.IntN(max(1, n/2))}
		steps := w.r.IntN(n)
		if w.r.IntN(2) == 0 {
			r.Stride = -r.Stride
		}
		reached := r.First + steps*r.Stride
		for reached < 0 || reached >= n {
			reached -= r.Stride
		}
		r.Last = reached
		if slack := w.r.IntN(max(r.Stride, -r.Stride)); r.Stride > 0 {
			r.Last += slack
		} else {
			r.Last -= slack
		}
		ranks := ranksOf([]Range{r})
		if slices.ContainsFunc(ranks, func(x int) bool { return !free[x] }) {
			continue
		}
		for _, x := range ranks {
			free[x] = false
		}
		out = append(out, r)
	}
	return out
}

func (w *world) step() {
	a, b := w.pick(), w.pick()
	switch w.r.IntN(9) {
	case 0:
		m := model(w.r.Perm(150)[:w.r.IntN(60)])
		g, err := New([]int(m))
		w.add(g, err, m)
	case 1:
		g, err := Union(a.g, b.g)
		w.add(g, err, a.m.union(b.m))
	case 2:
		g, err := Intersection(a.g, b.g)
		w.add(g, err, a.m.where(func(_, p int) bool { return slices.Contains(b.m, p) }))
	case 3:
		g, err := Difference(a.g, b.g)
		w.add(g, err, a.m.where(func(_, p int) bool { return !slices.Contains(b.m, p) }))
	case 4:
		ranks := w.r.Perm(len(a.m))[:w.r.IntN(len(a.m)+1)]
		g, err := a.g.Incl(ranks)
		w.add(g, err, a.m.incl(ranks))
	case 5:
		ranks := w.r.Perm(len(a.m))[:w.r.IntN(len(a.m)+1)]
		g, err := a.g.Excl(ranks)
		w.add(g, err, a.m.where(func(i, _ int) bool { return !slices.Contains(ranks, i) }))
	case 6, 7:
		if len(a.m) == 0 {
			return
		}
		ranges := w.ranges(len(a.m))
		ranks := ranksOf(ranges)
		g, err := a.g.RangeIncl(ranges)
		w.add(g, err, a.m.incl(ranks))
		g, err = a.g.RangeExcl(ranges)
		w.add(g, err, a.m.where(func(i, _ int) bool { return !slices.Contains(ranks, i) }))
	case 8:
		w.query(a, b)
	}
}

func (w *world) query(a, b pair) {
	t := w.t
	require.Equal(t, len(a.m), a.g.Size())
	for _, p := range append(w.r.Perm(160)[:20], a.m...) {
		want := slices.Index(a.m, p)
		require.Equal(t, want >= 0, a.g.Contains(p))
		if want < 0 {
			want = Undefined
		}
		require.Equal(t, want, a.g.Rank(p))
	}
	for rank, p := range a.g.All() {
		got, err := a.g.At(rank)
		require.NoError(t, err)
		require.Equal(t, a.m[rank], p)
		require.Equal(t, p, got)
	}
	got, err := Compare(a.g, b.g)
	require.NoError(t, err)
	require.Equal(t, a.m.compare(b.m), got)

	ranks, want := []int{ProcNull}, []int{ProcNull}
	for i, p := range a.m {
		at := slices.Index(b.m, p)
		if at < 0 {
			at = Undefined
		}
		ranks, want = append(ranks, i), append(want, at)
	}
	out, err := a.g.TranslateRanks(ranks, b.g)
	require.NoError(t, err)
	require.Equal(t, want, out)
}

func TestRandomOperationsAgreeWithSlices(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := &world{t: t, r: rand.New(rand.NewPCG(seed, 7)), pairs: []pair{{Empty[int](), model{}}}}
			for range 120 {
				w.step()
			}
		})
	}
}
