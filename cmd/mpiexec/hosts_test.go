package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi/slurmtest"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/netns"
)

// namespaces makes n hosts, each a network namespace with a name of its own, and returns their names
// for -hosts and the command for -rsh that runs a program there.
func namespaces(t *testing.T, n int) (list, rsh string) {
	t.Helper()
	for _, program := range []string{"nsenter", "unshare"} {
		need.Program(t, program)
	}
	dir := t.TempDir()
	for i, h := range netns.New(t, netns.Options{Hosts: n, Join: netns.Switch}).Hosts {
		require.NoError(t, os.Symlink(h.Path(), filepath.Join(dir, fmt.Sprintf("host%02d", i+1))))
	}
	rsh = filepath.Join(dir, "rsh")
	require.NoError(t, os.WriteFile(rsh, []byte(`#!/bin/sh
host=$1
shift
exec nsenter --net=`+dir+`/$host unshare --uts --mount sh -c 'hostname "$0" && exec "$@"' $host "$@"
`), 0o755))
	return fmt.Sprintf("host[01-%02d]", n), rsh
}

// onHosts runs this test binary as a program of a job, and returns its output.
func onHosts(t *testing.T, what string, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	args = append(args, "-genv", mainVariable+"=", "-genv", programVariable+"="+what, self)
	var errs bytes.Buffer
	cmd := mpiexec(t, args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "%s%s", out, errs.String())
	assert.Empty(t, errs.String())
	return string(out)
}

func checkSums(t *testing.T, out string, n int) {
	t.Helper()
	for rank := range n {
		assert.Contains(t, out, fmt.Sprintf("rank %d of %d: sum %d\n", rank, n, n*(n+1)/2))
	}
	assert.Equal(t, n, strings.Count(out, "\n"), "%s", out)
}

// TestManyRanksOnHosts starts 64 ranks on 16 hosts, which reach each other by their network alone. How
// long it takes is measured by bench.
func TestManyRanksOnHosts(t *testing.T) {
	list, rsh := namespaces(t, 16)
	for _, fanout := range []string{"16", "2"} {
		checkSums(t, onHosts(t, "sum", "-hosts", list+":4", "-rsh", rsh, "-fanout", fanout), 64)
	}
}

func TestMethodsBetweenHosts(t *testing.T) {
	list, rsh := namespaces(t, 3)
	for _, method := range []string{"via+shm,tcp", "via+udp"} {
		checkSums(t, onHosts(t, "sum", "-hosts", list, "-n", "4", "-map-by", "node", "-rsh", rsh, "-genv", "MPI_METHOD", method), 4)
	}
	checkSpawn(t, onHosts(t, "spawn", "-hosts", list, "-n", "2", "-rsh", rsh))
}

// sshd starts an SSH server of its own on this machine, and returns the command for -rsh that uses it.
func sshd(t *testing.T) (rsh string) {
	t.Helper()
	need.Program(t, "ssh")
	return startSSHD(t, need.Program(t, "sshd"), need.Program(t, "ssh-keygen"))
}

// TestOverSSH uses ssh as a user would, but for its options.
func TestOverSSH(t *testing.T) {
	rsh := sshd(t)
	checkSums(t, onHosts(t, "sum", "-hosts", "127.0.0.1:2,localhost:2", "-fanout", "1", "-rsh", rsh), 4)

	// If mpiexec is killed, the job ends.
	cmd := mpiexec(t, "-grace", "200ms", "-hosts", "127.0.0.1,localhost", "-rsh", rsh, "sh", "-c", "echo pid $$; trap '' TERM HUP; while :; do sleep 0.01; done")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	pids := readPids(t, out, 2)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	gone(t, pids)

	// The user sees the message with which the server refused.
	cmd = mpiexec(t, "-hosts", "127.0.0.1,localhost", "-rsh", rsh+" -oPubkeyAuthentication=no", "true")
	text, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(text), "Permission denied")
	assert.Regexp(t, `mpiexec: host \S+ cannot be reached \(.*Permission denied`, string(text))
}

// TestInAnAllocation: inside salloc, mpiexec uses the whole allocation, through srun.
func TestInAnAllocation(t *testing.T) {
	salloc := need.Program(t, "salloc")
	env := slurmtest.Start(t, 4)
	self, err := os.Executable()
	require.NoError(t, err)
	inside := func(t *testing.T, args ...string) (out, errs string, err error) {
		ctx, cancel := context.WithTimeout(context.Background(), waitMax)
		defer cancel()
		cmd := exec.CommandContext(ctx, salloc, append([]string{"--quiet", "--nodes=4", "--ntasks-per-node=2", "--overcommit", self}, args...)...)
		cmd.Env = append(append(os.Environ(), mainVariable+"=1"), env...)
		var said bytes.Buffer
		cmd.Stderr = &said // srun may say that it binds nothing
		text, err := cmd.Output()
		return string(text), said.String(), err
	}
	out, errs, err := inside(t, "-genv", mainVariable+"=", "-genv", programVariable+"=sum", self)
	require.NoError(t, err, "%s%s", out, errs)
	checkSums(t, out, 8)

	// Output is as the program wrote it, each node has its ranks, and the exit code is the program's.
	out, errs, err = inside(t, "sh", "-c", "echo $SLURMD_NODENAME $PMI_RANK; [ $PMI_RANK != 5 ] || exit 7")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s%s", out, errs)
	assert.Equal(t, 7, exit.ExitCode(), "%s", errs)
	assert.Contains(t, errs, "ended with exit code 7")
	out, errs, err = inside(t, "sh", "-c", "echo $SLURMD_NODENAME $PMI_RANK")
	require.NoError(t, err, "%s", errs)
	lines := strings.Fields(strings.ReplaceAll(strings.TrimSpace(out), " ", ":"))
	slices.Sort(lines)
	assert.Equal(t, []string{"n1:0", "n1:1", "n2:2", "n2:3", "n3:4", "n3:5", "n4:6", "n4:7"}, lines)
}
