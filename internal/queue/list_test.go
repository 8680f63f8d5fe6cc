package queue

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

type listed struct{ links Links[listed] }

// TestList compares the list with a slice, operation by operation.
func TestList(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 5))
	var l List[listed]
	var model []*listed
	for range 10_000 {
		switch k := rng.IntN(4); {
		case k < 2:
			e := &listed{}
			l.Add(e, &e.links)
			model = append(model, e)
		case k == 2:
			e := l.Pop()
			if len(model) == 0 {
				require.Nil(t, e)
				continue
			}
			require.Same(t, model[0], e)
			require.Zero(t, *e, "an element that left has no links")
			model = model[1:]
		case len(model) > 0:
			at := rng.IntN(len(model))
			l.Remove(&model[at].links)
			require.Zero(t, *model[at], "an element that left has no links")
			model = slices.Delete(model, at, at+1)
		}
		require.Equal(t, len(model), l.Len())
		at := 0
		for e := l.First(); e != nil; e = e.links.Next() {
			require.Same(t, model[at], e)
			at++
		}
		require.Equal(t, len(model), at)
	}
}

// BenchmarkList measures a record that passes through a list of 32.
func BenchmarkList(b *testing.B) {
	var l List[listed]
	records := make([]listed, 64)
	for i := range records[:32] {
		l.Add(&records[i], &records[i].links)
	}
	b.ReportAllocs()
	for i := 32; b.Loop(); i++ {
		l.Add(&records[i%len(records)], &records[i%len(records)].links)
		l.Pop()
	}
}
