package mpi_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/watch"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
)

// TestWatchedFromTheStart: a process shows its rank and its counts as soon as it shows its endpoint, also while Init waits.
func TestWatchedFromTheStart(t *testing.T) {
	boots, err := boot.Local(1)
	require.NoError(t, err)
	// ours returns the source of this process, among those that other tests have left.
	ours := func() *watch.Source {
		for _, o := range about.Live() {
			if s, ok := o.(*watch.Source); ok && s.Rank != nil && s.Rank().Job == boots[0].JobID() {
				return s
			}
		}
		return nil
	}
	var mu sync.Mutex
	var views [][]any
	var shown []bool
	defer about.Changed(func(n int) {
		mu.Lock()
		defer mu.Unlock()
		views = append(views, about.Live())
		s := ours()
		shown = append(shown, s != nil && s.Rank().Size == 1 && len(s.Counts()) > 0)
	})()
	p, err := mpi.Init(bg, mpi.Options{Boot: boots[0], Method: "mem"})
	require.NoError(t, err)
	mu.Lock()
	first := slices.IndexFunc(views, func(live []any) bool { return slices.Contains(live, any(p.Endpoint())) })
	require.GreaterOrEqual(t, first, 0)
	assert.True(t, shown[first], "the endpoint is shown without its rank")
	mu.Unlock()
	require.NotNil(t, ours())
	assert.Equal(t, watch.Rank{Job: boots[0].JobID(), Size: 1}, *ours().Rank())
	require.NoError(t, p.Finalize(bg))
	assert.Nil(t, ours())
}
