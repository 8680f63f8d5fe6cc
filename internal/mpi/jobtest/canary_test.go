package jobtest

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/mpi"
)

// wrong makes a process find an error and go on.
func wrong(t *checker, p *mpi.Process) {
	assert.Equal(t, 0, p.World().Rank(), "all but one find this")
}

// leaveBehind makes a process start another one that cannot be found by its parent or its group.
func leaveBehind(t *checker, p *mpi.Process) {
	if p.World().Rank() == 1 {
		cmd := exec.Command("sleep", "1000")
		cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
		require.NoError(t, cmd.Start())
	}
}

// TestFaultsAreSeen: the tests of this package can fail.
func TestFaultsAreSeen(t *testing.T) {
	j := newJob(t, 3, "wrong", shm).start()
	assert.Equal(t, faultCode, j.wait())
	assert.Contains(t, j.out.String(), "all but one find this")

	j = newJob(t, 2, "leave behind", shm).start()
	require.NoError(t, j.cmd.Wait())
	left := j.processes()
	require.Len(t, left, 1)
	require.NoError(t, unix.Kill(left[0], unix.SIGKILL))
	j.nothingLeft()
}
