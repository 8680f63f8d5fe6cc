package launch

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// TestGuardEnvironment: a guard inherits only the settings of the race detector. Without them it
// would sleep for a second at its end, and mpiexec would wait.
func TestGuardEnvironment(t *testing.T) {
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	g, err := startGuard()
	require.NoError(t, err)
	defer g.end()
	var env []byte
	require.Eventually(t, func() bool { // for a moment after exec the environment is empty
		env, err = os.ReadFile(fmt.Sprintf("/proc/%d/environ", g.cmd.Process.Pid))
		return err != nil || len(env) > 0
	}, wallclock.Patience, time.Millisecond)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"VIADUCT_LAUNCH_GUARD=1", "GORACE=atexit_sleep_ms=0"}, strings.Split(strings.TrimSuffix(string(env), "\x00"), "\x00"))
}
