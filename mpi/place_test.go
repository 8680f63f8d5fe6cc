package mpi

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi/boot"
)

// TestSpread: rank 0 finds out how far apart the processes are.
func TestSpread(t *testing.T) {
	a, b := placeText("a", true), placeText("b", true)
	plain := placeText("a", false)
	for _, c := range []struct {
		places []string
		want   spread
	}{
		{[]string{a, a, a}, allByName},
		{[]string{plain, plain}, onOneHost},
		{[]string{a, plain, a}, onOneHost},
		{[]string{plain, a}, onOneHost},
		{[]string{a, a, b}, farApart},
		{[]string{a, b, plain}, farApart},
		{[]string{a, "nonsense"}, farApart},
	} {
		boots, err := boot.Local(len(c.places))
		require.NoError(t, err)
		var all sync.WaitGroup
		for rank, b := range boots {
			require.NoError(t, tell(t.Context(), b, placeKey, c.places[rank]))
			all.Go(func() { assert.NoError(t, b.Fence(t.Context())) })
		}
		all.Wait()
		got, err := comparePlaces(t.Context(), boots[0], c.places[0])
		require.NoError(t, err)
		assert.Equal(t, c.want, got, "%q", c.places)
	}
}
