package nic

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestQueue compares the queue with a slice.
func TestQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var q Queue
	var model []*Descriptor
	require.Nil(t, q.Pop())
	for range 1000 {
		if rng.IntN(2) == 0 {
			d := &Descriptor{Next: &Descriptor{}}
			q.Push(d)
			model = append(model, d)
		} else if len(model) > 0 {
			d := q.Pop()
			require.Same(t, model[0], d)
			require.Nil(t, d.Next)
			model = model[1:]
		}
		require.Equal(t, len(model), q.Len())
		if len(model) == 0 {
			require.Nil(t, q.Head())
		} else {
			require.Same(t, model[0], q.Head())
		}
	}
}
