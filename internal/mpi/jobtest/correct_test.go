package jobtest

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/race"
)

// TestEverything: the same program has the same results over every method and with every number of
// processes, even with more processes than processors.
func TestEverything(t *testing.T) {
	for _, method := range methods {
		for _, n := range sizes(method) {
			t.Run(fmt.Sprintf("over=%s/ranks=%d", method, n), func(t *testing.T) {
				newJob(t, n, "everything", method).run()
			})
		}
	}
}

// sizes returns the numbers of ranks for the tests.
func sizes(method string) []int {
	switch {
	case testing.Short() && method == shm:
		return []int{2, 7}
	case testing.Short():
		return []int{3}
	case !race.Enabled:
		return []int{1, 2, 3, 4, 7, 16}
	case method == shm || method == tcp:
		return []int{2, 16}
	}
	return []int{1, 3, 7}
}

// TestTheMethodThatIsChosen: without MPI_METHOD.
func TestTheMethodThatIsChosen(t *testing.T) {
	newJob(t, 4, "everything", "").run()
}

// TestNobodyLaunchedIt: a process without a launcher is a whole job.
func TestNobodyLaunchedIt(t *testing.T) {
	j := newJob(t, 1, "init by itself", "")
	j.cmd.Args = j.cmd.Args[:1]
	j.env(launcherVariable, "")
	j.run()
}

// TestAProgramWithoutMethods: it uses those of a plugin, which the environment names.
func TestAProgramWithoutMethods(t *testing.T) {
	bare, path := built(t, "internal/mpi/jobtest/testdata/bare"), built(t, viaPlugin)
	for _, method := range []string{"", shm, udp} {
		t.Run("MPI_METHOD="+method, func(t *testing.T) {
			j := newJob(t, 3, "everything", method)
			j.cmd.Args[len(j.cmd.Args)-1] = bare
			j.env("BMI_PLUGINS", path).env("BMI_PLUGIN_ENV", "VIADUCT_SHM_DIR,VIADUCT_UDP_KEY")
			j.run()
			for rank := range 3 {
				assert.Contains(t, j.out.String(), fmt.Sprintf("rank %d of 3 by %s", rank, method))
			}
			assert.Equal(t, 3, strings.Count(j.out.String(), "sum 3\n"), "%s", j.out.String())
		})
	}
}

// TestBadInput: errors of calls have their class and a sentence, over each kind of method.
func TestBadInput(t *testing.T) {
	for _, method := range []string{shm, tcp} {
		for _, n := range []int{1, 2, 3} {
			t.Run(fmt.Sprintf("over=%s/ranks=%d", method, n), func(t *testing.T) {
				newJob(t, n, "bad input", method).run()
			})
		}
	}
}

// TestFinalizeWithPendingRequests: Finalize reports them, and ends in any case.
func TestFinalizeWithPendingRequests(t *testing.T) {
	newJob(t, 3, "pending", shm).run()
}

// TestAMethodThatThereIsNot: Init says so in a sentence, and the launcher does not wait for the
// failed processes.
func TestAMethodThatThereIsNot(t *testing.T) {
	j := newJob(t, 3, "cannot", "via+pigeon")
	require.Equal(t, faultCode, j.start().wait(), "%s", j.out.String())
	assert.Regexp(t, `Init says: .*MPI_ERR_OTHER.*via\+pigeon`, j.out.String())
}

// TestTheLauncherItself tests the command that users have.
func TestTheLauncherItself(t *testing.T) {
	mpiexec := built(t, "cmd/mpiexec")
	j := newJob(t, 3, "everything", "")
	j.cmd = &exec.Cmd{Path: mpiexec, Args: j.cmd.Args, Env: j.cmd.Env, Stdout: &j.out, Stderr: &j.out, SysProcAttr: j.cmd.SysProcAttr}
	j.env(launcherVariable, "")
	j.run()
}
