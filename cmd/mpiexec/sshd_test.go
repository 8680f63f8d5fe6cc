package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/freeport"
)

// startSSHD starts an SSH server with keys and settings of its own, on loopback, until the test ends.
func startSSHD(t *testing.T, server, keygen string) (rsh string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // sshd wants no folder that others can change
	for _, key := range []string{"host", "user"} {
		out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	port := freeport.TCP(t)
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	public, err := os.ReadFile(filepath.Join(dir, "user.pub"))
	require.NoError(t, err)
	allowed := write("authorized", string(public))
	config := write("sshd_config", fmt.Sprintf(`Port %d
ListenAddress 127.0.0.1
HostKey %s/host
AuthorizedKeysFile %s
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PermitRootLogin yes
PidFile none
`, port, dir, allowed))
	if os.Getuid() == 0 {
		require.NoError(t, os.MkdirAll("/run/sshd", 0o755)) // where the server confines itself
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = log.Close() })
	cmd := exec.Command(server, "-D", "-e", "-f", config)
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("sshd: %s", text)
		}
	})
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, waitMax, time.Millisecond)
	return fmt.Sprintf("ssh -F none -x -T -oBatchMode=yes -oLogLevel=ERROR -oStrictHostKeyChecking=no -oUserKnownHostsFile=%s/known -oIdentitiesOnly=yes -oIdentityFile=%s/user -p %d", dir, dir, port)
}

// readPids reads process ids that processes wrote as "pid N".
func readPids(t *testing.T, out io.Reader, n int) (pids []int) {
	t.Helper()
	for lines := bufio.NewScanner(out); len(pids) < n && lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "pid "); ok {
			pid, err := strconv.Atoi(text)
			require.NoError(t, err)
			pids = append(pids, pid)
		}
	}
	require.Len(t, pids, n)
	return pids
}

// gone waits until processes have ended.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		assert.Eventually(t, func() bool { return unix.Kill(pid, 0) == unix.ESRCH }, waitMax, time.Millisecond, "process %d is still there", pid)
	}
}
