package pvfstest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// parentVariable makes the test binary a parent: it starts a child, prints its process ID, and waits.
const parentVariable = "VIADUCT_PVFSTEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) != "" {
		child := exec.Command("sleep", "1000")
		if err := StartChild(child); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(child.Process.Pid)
		_ = child.Wait()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestChild: a child ends with its parent, however the parent ends.
func TestChild(t *testing.T) {
	parent := exec.Command("/proc/self/exe")
	parent.Env = append(os.Environ(), parentVariable+"=1")
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, StartChild(parent))
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err, "the parent said %q", line)
	require.True(t, sleeps(pid))
	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())
	require.Eventually(t, func() bool { return !sleeps(pid) }, time.Minute, 5*time.Millisecond)
}

// sleeps reports whether a process is the child, and has not ended.
func sleeps(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && strings.Contains(string(text), "(sleep)") && !strings.Contains(string(text), "(sleep) Z")
}

// TestNoSuchChild: a missing program is an error.
func TestNoSuchChild(t *testing.T) {
	require.ErrorIs(t, StartChild(exec.Command(filepath.Join(t.TempDir(), "none"))), os.ErrNotExist)
}
