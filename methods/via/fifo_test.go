package via

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

type queued struct {
	n    int
	next *queued
}

func (q *queued) link() **queued { return &q.next }

// TestFIFO compares the queue with a slice, operation by operation.
func TestFIFO(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	var q fifo[queued, *queued]
	var model []*queued
	for i := range 10_000 {
		switch k := rng.IntN(10); {
		case k < 4:
			e := &queued{n: i}
			q.push(e)
			model = append(model, e)
		case k < 5:
			e := &queued{n: i}
			q.putBack(e)
			model = slices.Insert(model, 0, e)
		case k < 7 && len(model) > 0:
			at := rng.IntN(len(model))
			q.remove(model[at])
			model = slices.Delete(model, at, at+1)
		default:
			e := q.pop()
			if len(model) == 0 {
				require.Nil(t, e)
				continue
			}
			require.Same(t, model[0], e)
			require.Nil(t, e.next, "an element that left has no link")
			model = model[1:]
		}
		require.Equal(t, len(model) == 0, q.empty())
	}
	for _, want := range model {
		require.Same(t, want, q.pop())
	}
	require.True(t, q.empty())
}
