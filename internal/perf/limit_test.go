package perf

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/viaduct-hpc/viaduct/internal/need"
)

// roleVariable makes the test program do something other than testing.
const roleVariable = "BMI_PERF_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "follower":
		if err := RunFollower(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "dies":
		fmt.Println("ok")
		os.Exit(7)
	}
	goleak.VerifyTestMain(m)
}

func openTestLimits(t *testing.T, size int) *Limits {
	t.Helper()
	cores, err := ParsePin("on")
	require.NoError(t, err)
	if !cores.Pinned {
		need.Unless(t, need.Cores, errors.New("this needs two"))
	}
	t.Setenv(roleVariable, "follower")
	l, err := OpenLimits(SelfCommand(), cores, size)
	require.NoError(t, err)
	return l
}

func TestLimitsMeasureSomething(t *testing.T) {
	l := openTestLimits(t, 64<<10)
	bounce, err := l.Bounce(5 * time.Millisecond)
	require.NoError(t, err)
	assert.Equal(t, LimitBounce, bounce.Test)
	assert.Positive(t, bounce.Median)
	assert.LessOrEqual(t, bounce.Median, bounce.P99)

	copied, err := l.Memcpy(64<<10, 5*time.Millisecond)
	require.NoError(t, err)
	assert.Equal(t, 64<<10, copied.Size)
	assert.Positive(t, copied.Median)

	_, err = l.Memcpy(1<<20, time.Millisecond)
	assert.ErrorContains(t, err, "1 MiB cannot be copied")
	require.NoError(t, l.Close())
}

func TestLimitsNoticeADeadFollower(t *testing.T) {
	l := openTestLimits(t, 4096)
	d := &limitDuel{l: l}
	require.NoError(t, d.begin(1000))
	require.NoError(t, d.step(500))
	require.NoError(t, l.child.cmd.Process.Kill())
	err := d.step(1 << 30)
	require.ErrorIs(t, err, errPeerGone)
	assert.Error(t, l.Close())
}

func TestTheCopyMovesTheData(t *testing.T) {
	l := openTestLimits(t, 8192)
	d := &limitDuel{l: l, size: 8192}
	require.NoError(t, d.begin(1))
	copy(l.pair.buffer(1, 8192), []byte("written by the far side"))
	require.NoError(t, d.step(1))
	assert.Equal(t, "written by the far side", string(l.pair.buffer(0, 23)), "the leader copied it")
	assert.Equal(t, "written by the far side", string(l.pair.buffer(1, 23)))
	require.NoError(t, l.Close())
}

func TestBareSocketsMeasureSomething(t *testing.T) {
	l := openTestLimits(t, 0)
	measured := map[Test]func(int, time.Duration) (Result, error){LimitSocket: l.Socket, LimitUDP: l.UDP}
	for i, size := range []int{8, 8, 1 << 20, 1 << 20, 64, 64} {
		test := []Test{LimitSocket, LimitUDP}[i%2]
		r, err := measured[test](size, 5*time.Millisecond)
		require.NoError(t, err)
		assert.Equal(t, test, r.Test)
		assert.Equal(t, MethodBare, r.Method)
		assert.Equal(t, size, r.Size)
		assert.Equal(t, UnitMicros, r.Unit)
		assert.Positive(t, r.Median)
	}
	for _, measure := range measured {
		_, err := measure(0, time.Millisecond)
		assert.ErrorContains(t, err, "0 B cannot be sent")
	}
	require.NoError(t, l.Close())
}

func TestBareSocketMovesTheDataAndNoticesADeadFollower(t *testing.T) {
	l := openTestLimits(t, 0)
	const size = 1 << 20
	require.NoError(t, l.openSocket())
	l.socket.grow(size)
	d := &socketDuel{l: l, side: l.socket, verb: "answer", size: size}
	require.NoError(t, d.begin(1000))
	clear(l.socket.in)
	require.NoError(t, d.step(1))
	for _, i := range []int{1, 255, size - 1} {
		assert.Equal(t, byte(i), l.socket.in[i], "the pattern of the other side's buffer")
	}
	require.NoError(t, l.child.cmd.Process.Kill())
	require.ErrorIs(t, d.step(1<<30), errSocketEnd)
	assert.Error(t, l.Close())
}

func TestBareSocketWithNobodyThere(t *testing.T) {
	listener, port, err := listenBare()
	require.NoError(t, err)
	listener.close()
	_, err = dialBare(port)
	assert.ErrorContains(t, err, "connect to port")
}

func TestFollowerRefusesWhatItDoesNotKnow(t *testing.T) {
	f := &follower{pair: &sharedPair{size: 4096}}
	for _, line := range []string{"", "dance", "follow 1 4097", "follow -1 0", "answer 1 8", "reflect 1 8", "connect x", "datagrams x"} {
		assert.ErrorContains(t, f.obey(line), "unknown command", line)
	}
}

func TestChildThatEndsIsExplained(t *testing.T) {
	t.Setenv(roleVariable, "dies")
	c, err := StartChild("short-lived helper", SelfCommand())
	require.NoError(t, err)
	_, err = c.Answer()
	require.NoError(t, err)
	_, err = c.Answer()
	require.Error(t, err)
	assert.Contains(t, err.Error(), "short-lived helper ended too early")
	assert.Contains(t, err.Error(), "exit status 7")
	assert.ErrorContains(t, c.Close(), "exit status 7")
	assert.True(t, c.Dead.Load())

	_, err = StartChild("missing helper", []string{"/nonexistent"})
	assert.ErrorContains(t, err, "missing helper")
}

func TestFollowerRefusesForeignMemory(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "memory")
	require.NoError(t, err)
	require.NoError(t, f.Truncate(headBytes+7))
	_, err = mapSharedPair(f)
	assert.ErrorContains(t, err, "none of ours")
}
