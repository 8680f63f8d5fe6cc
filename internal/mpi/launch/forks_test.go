package launch

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestTimerSlack: the processes of a large job get more than those of a small one.
func TestTimerSlack(t *testing.T) {
	assert.Zero(t, slackOf(4, 2))
	assert.Zero(t, slackOf(15, 2))
	assert.Equal(t, 400*time.Microsecond, slackOf(16, 2))
	assert.Equal(t, slackMax, slackOf(1000, 2))

	own, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0) // to read /proc/self/timerslack_ns, a thread must be the first
	require.NoError(t, err)
	for _, n := range []int{1, crowdEach * runtime.NumCPU()} {
		r := newRun(t, n, "wait")
		r.cfg.Programs = []Program{{N: n, Path: "cat", Args: []string{"/proc/self/timerslack_ns"}}}
		r.cfg.Label = false
		r.start().wait().check(0)
		want := fmt.Sprintln(own)
		if n > 1 {
			want = "400000\n"
		}
		assert.Equal(t, strings.Repeat(want, n), r.out.String())
	}
}
