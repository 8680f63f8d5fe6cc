package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/examples/mpi/internal/job"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
)

func TestMatrix(t *testing.T) {
	b := job.Build(t)
	for _, s := range job.Settings() {
		t.Run(s.String(), func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "matrix")
			out := b.MustRun(t, s, "-side", "37", "-file", name)
			assert.Contains(t, out, ", 0 of them wrong")
			st, err := os.Stat(name)
			require.NoError(t, err)
			assert.EqualValues(t, 8*37*37*s.N, st.Size())
		})
	}
	c := pvfstest.Start(t, pvfstest.Options{Method: pvfstest.TCP})
	out := b.MustRun(t, job.Setting{N: 3, Method: "tcp"}, "-side", "61", "-file", "pvfs:"+c.Source()+"/matrix")
	assert.Contains(t, out, ", 0 of them wrong")
	out = b.MustFail(t, job.Setting{N: 2, Method: "via+shm"}, "-file", "/nonexistent/matrix")
	assert.Contains(t, out, "MPI_ERR_NO_SUCH_FILE")
}
