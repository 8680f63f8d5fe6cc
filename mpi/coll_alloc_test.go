//go:build !race

package mpi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
)

// TestCollectivesDoNotAllocate: small blocking operations leave nothing to the garbage
// collector, on any rank, on one host or on several.
func TestCollectivesDoNotAllocate(t *testing.T) {
	const runs = 500
	for _, job := range []struct{ n, hosts int }{{1, 1}, {2, 1}, {3, 1}, {4, 1}, {3, 2}, {4, 2}} {
		n := job.n
		o := mpitest.Options{Method: "via+shm"}
		if job.hosts > 1 {
			o.Each = onHosts((n + 1) / job.hosts).Each
		}
		mpitest.Run(t, n, o, func(t *testing.T, p *mpi.Process) {
			w := p.World()
			in, out := []float64{1}, []float64{0}
			for _, call := range []struct {
				name string
				run  func() error
			}{
				{"allreduce", func() error { return w.Allreduce(bg, mpi.Slice(in), mpi.Slice(out), mpi.Sum) }},
				{"allreduce in place", func() error { return w.Allreduce(bg, mpi.InPlace, mpi.Slice(out), mpi.Max) }},
				{"barrier", func() error { return w.Barrier(bg) }},
			} {
				for range 200 { // buffers grow to their size
					require.NoError(t, call.run())
				}
				var failed error
				run := func() {
					if err := call.run(); err != nil {
						failed = err
					}
				}
				if w.Rank() > 0 {
					for range runs + 1 {
						run()
					}
				} else {
					assert.Less(t, testing.AllocsPerRun(runs, run), 1.0, "%s on %+v", call.name, job)
				}
				require.NoError(t, failed)
				require.NoError(t, w.Barrier(bg))
			}
		})
	}
}
