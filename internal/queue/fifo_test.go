package queue

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

func (q *queued) Link() **queued { return &q.next }

// TestFIFO compares the queue with a slice, operation by operation.
func TestFIFO(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 5))
	var q FIFO[queued, *queued]
	var model []*queued
	for i := range 10_000 {
		switch k := rng.IntN(10); {
		case k < 4:
			e := &queued{n: i}
			q.Push(e)
			model = append(model, e)
		case k < 5:
			e := &queued{n: i}
			q.PutBack(e)
			model = slices.Insert(model, 0, e)
		case k < 7 && len(model) > 0:
			at := rng.IntN(len(model))
			q.Remove(model[at])
			model = slices.Delete(model, at, at+1)
		default:
			e := q.Pop()
			if len(model) == 0 {
				require.Nil(t, e)
				continue
			}
			require.Same(t, model[0], e)
			require.Nil(t, e.next, "an element that left has no link")
			model = model[1:]
		}
		require.Equal(t, len(model) == 0, q.Empty())
	}
	for _, want := range model {
		require.Same(t, want, q.Pop())
	}
	require.True(t, q.Empty())
}
