package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/need"
)

// ownerID is the user that runs a server.
const ownerID = 31339

// TestServeAsAUserForOthers: a server that does not run as root serves other users if they list the server's user as
// trusted.
func TestServeAsAUserForOthers(t *testing.T) {
	need.AsRoot(t)
	root, err := os.MkdirTemp("", "viaduct-test-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	require.NoError(t, os.Chmod(root, 0o755))
	bin, open := filepath.Join(root, "pvfsd"), filepath.Join(root, "open")
	data, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(bin, data, 0o755))
	require.NoError(t, os.Chmod(bin, 0o755))
	folder := filepath.Join(root, "folder")
	for _, dir := range []string{folder, open, filepath.Join(open, "31339")} { // the last one as the administrator makes it
		require.NoError(t, os.Mkdir(dir, 0o755))
		require.NoError(t, os.Chmod(dir, 0o755))
	}
	require.NoError(t, os.Chown(filepath.Join(open, "31339"), ownerID, ownerID))
	conf := filepath.Join(folder, "fs.conf")
	out, err := command(t, "genconfig", "-o", conf, "one=via+shm://pvfsd-of-a-user").CombinedOutput()
	require.NoError(t, err, string(out))
	require.NoError(t, os.Chmod(conf, 0o644))
	require.NoError(t, os.Chown(folder, ownerID, ownerID))

	t.Setenv("VIADUCT_SHM_DIR", filepath.Join(root, "ours"))
	t.Setenv("VIADUCT_SHM_OPEN_DIR", open)
	d := serveAs(t, func(cmd *exec.Cmd) {
		cmd.Path, cmd.Dir = bin, "/"
		cmd.Env = append(cmd.Env, "VIADUCT_SHM_DIR="+filepath.Join(folder, "shm"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ownerID, Gid: ownerID}}
	}, "--config", conf, "--dir", filepath.Join(folder, "data"), "--create", "--other-users")
	require.ErrorIs(t, ask(t, d.addresses[0]), bmi.ErrUnreachable, "nobody said that this user is to be trusted")
	t.Setenv("VIADUCT_SHM_TRUST", "31339")
	noop(t, d.addresses[0])
	require.Zero(t, d.end(syscall.SIGTERM))
}
