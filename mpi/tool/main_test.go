package tool_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	_ "github.com/viaduct-hpc/viaduct/bmi/bmitest"
	_ "github.com/viaduct-hpc/viaduct/methods/tcp"
	_ "github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/mpi"
	"github.com/viaduct-hpc/viaduct/mpi/mpitest"
	_ "github.com/viaduct-hpc/viaduct/mpi/rma"
	"github.com/viaduct-hpc/viaduct/mpi/tool"
	_ "github.com/viaduct-hpc/viaduct/plugins"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bg is the context of calls that nothing ends.
var bg = context.Background()

// methods are those over which variables are seen to move.
var methods = []string{"mem", "via+shm", "tcp"}

// open opens the tools interface of a process for the time of a test.
func open(t *testing.T, p *mpi.Process) *tool.Interface {
	t.Helper()
	i, err := tool.Open(p)
	require.NoError(t, err)
	t.Cleanup(i.Close)
	return i
}

// alone runs fn on a job of one process.
func alone(t *testing.T, method string, fn func(t *testing.T, p *mpi.Process, i *tool.Interface)) {
	t.Helper()
	mpitest.Run(t, 1, mpitest.Options{Method: method}, func(t *testing.T, p *mpi.Process) { fn(t, p, open(t, p)) })
}
