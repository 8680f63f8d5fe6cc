package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestWeighted: a graph has weights if a process passes some and no process passes edges without
// weights. Processes without edges may pass nil (MPI-4.1, 8.5.4).
func TestWeighted(t *testing.T) {
	mpitest.Run(t, 3, mpitest.Options{}, func(t *testing.T, p *mpi.Process) {
		w := p.World()
		for _, c := range []struct {
			name    string
			edges   [3]int
			weights [3][]int
			want    bool
		}{
			{"nothing at all", [3]int{0, 0, 0}, [3][]int{nil, nil, nil}, false},
			{"no edges, but weights", [3]int{0, 0, 0}, [3][]int{nil, {}, {}}, true},
			{"one without edges", [3]int{1, 0, 1}, [3][]int{{4}, nil, {5}}, true},
			{"none has weights", [3]int{1, 0, 1}, [3][]int{nil, nil, nil}, false},
			{"one has no weights", [3]int{1, 1, 1}, [3][]int{{4}, {5}, nil}, false},
		} {
			me := w.Rank()
			var degrees, sources, destinations []int
			if c.edges[me] > 0 {
				sources, degrees, destinations = []int{me}, []int{1}, []int{0}
			}
			g, err := w.DistGraphCreate(bg, sources, degrees, destinations, c.weights[me], nil, false)
			require.NoError(t, err, c.name)
			mine, err := g.DistGraph()
			require.NoError(t, err, c.name)
			assert.Equal(t, c.want, mine.Weighted(), c.name)
			require.NoError(t, g.Free())
		}
	})
}
