//go:build linux

package plugintest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mem"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
	"github.com/viaduct-hpc/viaduct/plugins"
)

// TestSavesTheCopy: over a plugin, a large message is copied to shared memory, on both sides, unless it is there already, as
// memory of package mem is.
func TestSavesTheCopy(t *testing.T) {
	load(t, plugins.Options{})
	const n = 1 << 20
	mpitest.Run(t, 2, mpitest.Options{Method: "far-shm"}, func(t *testing.T, p *mpi.Process) {
		w, peer := p.World(), 1-p.World().Rank()
		m, err := mem.Alloc[byte](w, 2*n, nil)
		require.NoError(t, err)
		exchange := func(out, in []byte) (copied uint64) {
			require.NoError(t, w.Barrier(bg))
			before := copiedBytes(p)
			_, err := w.Sendrecv(bg, mpi.Slice(out), peer, 0, mpi.Slice(in), peer, 0)
			require.NoError(t, err)
			return copiedBytes(p) - before
		}
		assert.EqualValues(t, 2*n, exchange(make([]byte, n), make([]byte, n)), "plain memory")
		assert.Zero(t, exchange(m.Slice()[:n], m.Slice()[n:]), "memory of Alloc")
		require.NoError(t, m.Free())
	})
}

// copiedBytes is the number of bytes of large messages that the process's methods have copied.
func copiedBytes(p *mpi.Process) (n uint64) {
	for _, m := range p.Endpoint().Stats().Methods {
		n += m.CopiedBytes
	}
	return n
}
