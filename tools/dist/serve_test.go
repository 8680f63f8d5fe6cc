package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/freeport"
	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
)

// TestTheSampleConfigurationServes starts a server with the sample, at another port, and copies a file.
func TestTheSampleConfigurationServes(t *testing.T) {
	m := all(t)
	text, err := installed.ReadFile("files/fs.conf")
	require.NoError(t, err)
	dir := t.TempDir()
	t.Setenv("VIADUCT_SHM_DIR", filepath.Join(dir, "shm"))
	at := freeport.Address(t)
	require.Contains(t, string(text), "127.0.0.1:3334")
	conf := filepath.Join(dir, "fs.conf")
	require.NoError(t, os.WriteFile(conf, []byte(strings.Replace(string(text), "127.0.0.1:3334", at, 1)), 0o644))
	pvfsd, pvfs := filepath.Join(m.bin, "pvfsd"), filepath.Join(m.bin, "pvfs")
	checked := run(t, pvfsd, "check-config", conf)
	assert.Contains(t, checked, "has no errors")
	assert.NotContains(t, checked, "no effect", "a sample needs only what has one")

	server := exec.Command(pvfsd, "serve", "--config", conf, "--alias", "a", "--dir", filepath.Join(dir, "data"), "--create")
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := server.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	late := time.AfterFunc(wallclock.Patience, func() { _ = server.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), " serves pvfs2-fs at ") {
	}
	for _, source := range []string{"tcp://" + at, "via+shm://pvfs-a"} {
		run(t, pvfs, "cp", "--verify", pvfs, source+"/pvfs2-fs/copy")
		assert.Contains(t, run(t, pvfs, "--fs", source+"/pvfs2-fs", "ls", "/"), "copy")
		run(t, pvfs, "--fs", source+"/pvfs2-fs", "rm", "/copy")
	}
	require.NoError(t, server.Process.Signal(syscall.SIGTERM))
	for lines.Scan() {
	}
	require.NoError(t, server.Wait())
}

// writeUnits writes the units into a folder, with the programs as they are here.
func writeUnits(t *testing.T) (server, mount string) {
	t.Helper()
	m, dir := all(t), t.TempDir()
	var names []string
	for _, name := range []string{"pvfsd@.service", "pvfs-mount@.service"} {
		text, err := installed.ReadFile("files/" + name)
		require.NoError(t, err)
		text = []byte(strings.ReplaceAll(string(text), "ExecStart=/usr/bin/", "ExecStart="+m.bin+"/"))
		names = append(names, filepath.Join(dir, name))
		require.NoError(t, os.WriteFile(names[len(names)-1], text, 0o644))
	}
	return names[0], names[1]
}

// TestUnits: systemd understands the units, and finds little to fear.
func TestUnits(t *testing.T) {
	analyze := need.Program(t, "systemd-analyze")
	server, mount := writeUnits(t)
	for unit, instance := range map[string]string{server: "pvfsd@a.service", mount: "pvfs-mount@mnt-pvfs.service"} {
		named := filepath.Join(filepath.Dir(unit), instance)
		require.NoError(t, os.Link(unit, named))
		out, err := exec.Command(analyze, "verify", "--man=no", named).CombinedOutput()
		require.NoError(t, err, string(out))
		assert.NotContains(t, string(out), instance, "a warning")
	}
	// From 0 to 100; a service without any protection has 96.
	out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=20", server).CombinedOutput()
	require.NoError(t, err, string(out))
}
