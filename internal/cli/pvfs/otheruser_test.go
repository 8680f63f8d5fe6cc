package pvfs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse/fusetest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
)

// Unprivileged users, and a common group.
const (
	userA    = 31337
	userB    = 31338
	theirGrp = 31400
)

// users run this test binary as the command, with servers of root that are open to them over via+shm.
type users struct {
	t         *testing.T
	root, bin string
	cluster   *pvfstest.Cluster
}

func newUsers(t *testing.T, opts pvfstest.Options) *users {
	t.Helper()
	need.AsRoot(t)
	root, err := os.MkdirTemp("", "viaduct-test-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	require.NoError(t, os.Chmod(root, 0o755))
	u := &users{t: t, root: root, bin: filepath.Join(root, "pvfs")}
	data, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(u.bin, data, 0o755))
	require.NoError(t, os.Chmod(u.bin, 0o755))
	for _, uid := range []int{userA, userB} {
		require.NoError(t, os.Mkdir(u.home(uid), 0o700))
		require.NoError(t, os.Chown(u.home(uid), uid, uid))
	}
	t.Setenv("VIADUCT_SHM_DIR", filepath.Join(root, "shm"))
	t.Setenv("VIADUCT_SHM_OPEN_DIR", filepath.Join(root, "open"))
	t.Setenv("VIADUCT_SHM_OTHER_USERS", "1")
	opts.Method = pvfstest.ViaShm
	u.cluster = pvfstest.Start(t, opts)
	return u
}

func (u *users) home(uid int) string {
	return filepath.Join(u.root, map[int]string{userA: "a", userB: "b"}[uid])
}

// command is a command line, run as a user.
func (u *users) command(uid int, line string) *exec.Cmd {
	cmd := exec.Command(u.bin, append([]string{"--fs", u.cluster.Source()}, strings.Fields(line)...)...)
	cmd.Dir = u.home(uid)
	cmd.Env = append(os.Environ(), commandEnv+"=1", "VIADUCT_SHM_DIR="+filepath.Join(u.home(uid), "shm"), "VIADUCT_SHM_OTHER_USERS=0", "HOME="+u.home(uid))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid), Groups: []uint32{theirGrp}}}
	return cmd
}

// ok runs a line that must succeed, and returns its output.
func (u *users) ok(uid int, input, line string) string {
	u.t.Helper()
	cmd := u.command(uid, line)
	cmd.Stdin = strings.NewReader(input)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(u.t, err, "%s: %s", line, errs.String())
	return string(out)
}

// no runs a line that must fail, and returns its error text.
func (u *users) no(uid int, line string) string {
	u.t.Helper()
	out, err := u.command(uid, line).CombinedOutput()
	require.Error(u.t, err, "%s: %s", line, out)
	return string(out)
}

// failures counts the requests that servers refused for authentication.
func (u *users) failures() (n uint64) {
	for i := range u.cluster.Len() {
		n += u.cluster.Server(i).Stats().AuthenticationFailures
	}
	return n
}

// TestOtherUsersAreThemselves: users of the machine work with files on servers of root. Each acts as itself, and cannot act as
// another user.
func TestOtherUsersAreThemselves(t *testing.T) {
	u := newUsers(t, pvfstest.Options{})
	s := &shell{t: t, source: u.cluster.Source(), in: []byte("for root alone")}
	s.ok("mkdir -m 777 /pub")
	s.ok("put /pub/secret")
	s.ok("chmod 600 /pub/secret")
	require.Zero(t, u.failures(), "root is believed")

	u.ok(userA, "for A alone", "put /pub/a")
	u.ok(userA, "", "chmod 600 /pub/a")
	assert.Equal(t, "for A alone", u.ok(userA, "", "cat /pub/a"))
	assert.Contains(t, s.ok("stat --json /pub/a"), `"uid":31337`)
	u.ok(userA, "", "chown :31400 /pub/a")
	big := filepath.Join(u.home(userA), "big")
	require.NoError(t, os.WriteFile(big, bytes.Repeat([]byte("0123456789abcdef"), 512<<10), 0o644))
	u.ok(userA, "", "cp --quiet --verify "+big+" :/pub/big")
	u.ok(userA, "", "cp --quiet --verify :/pub/big "+big+"2")
	require.Zero(t, u.failures())

	for _, name := range []string{"/pub/secret", "/pub/a"} {
		assert.Contains(t, u.no(userB, "cat "+name), "permission denied")
	}
	require.Zero(t, u.failures())
	failed := uint64(0)
	for _, claim := range []string{"--user 0", "--user 0:0", "--user 0:31338", "--user 31337", "--user 31337:31400", "--user 31338:31400,0", "--user 31338:31337"} {
		out := u.no(userB, claim+" cat /pub/secret")
		assert.Contains(t, out, "not permitted", claim)
		require.Greater(t, u.failures(), failed, claim)
		failed = u.failures()
	}
	u.no(userB, "--user 0 rm /pub/secret")
	u.no(userB, "--user 31337 rm /pub/a")
	assert.Equal(t, "for root alone", s.ok("cat /pub/secret"))
	assert.Equal(t, "for A alone", u.ok(userA, "", "cat /pub/a"))
	u.ok(userB, "", "--user 31338:31400 ls /pub")
}

// TestOtherUsersWithIdentities: a line for a user of the machine applies, and a line for all clients does not apply to it.
func TestOtherUsersWithIdentities(t *testing.T) {
	ids, err := credential.ParseIdentities([]byte("uid:31337 users\n* any\n"))
	require.NoError(t, err)
	u := newUsers(t, pvfstest.Options{Server: func(_ int, cfg *server.Config) { cfg.Identities = ids }})
	u.ok(userA, "", "--user 555 ls /")
	u.no(userA, "--user 0 ls /")
	require.NotZero(t, u.failures())
	u.ok(userB, "", "ls /")
	u.no(userB, "--user 555 ls /")
	u.no(userB, "--user 0 ls /")
}

// TestOtherUsersNeedAKey: servers that believe any client that claims to be a server refuse other users.
func TestOtherUsersNeedAKey(t *testing.T) {
	u := newUsers(t, pvfstest.Options{Unsigned: true})
	u.no(userA, "ls /")
	require.NotZero(t, u.failures())
	_, err := server.New(server.Config{FS: u.cluster.FS, Alias: "server0", Store: u.cluster.Store(0), OtherUsers: true})
	require.ErrorIs(t, err, server.ErrConfig)
	require.ErrorContains(t, err, "other users of the machine")
}

// usersMayMount returns why users other than root cannot mount.
func usersMayMount(helper string) error {
	for path, bits := range map[string]os.FileMode{helper: os.ModeSetuid, "/dev/fuse": 0o006} {
		st, err := os.Stat(path)
		if err != nil {
			return err
		}
		if st.Mode()&bits != bits {
			return fmt.Errorf("%s has mode %v, so users other than root cannot mount", path, st.Mode())
		}
	}
	return nil
}

// TestOtherUsersMount: a user mounts the file system, and acts as itself in the mount.
func TestOtherUsersMount(t *testing.T) {
	fusetest.Need(t)
	need.Unless(t, need.UserMounts, usersMayMount(need.Program(t, "fusermount3")))
	u := newUsers(t, pvfstest.Options{})
	s := &shell{t: t, source: u.cluster.Source(), in: []byte("for root alone")}
	s.ok("mkdir -m 777 /pub")
	s.ok("put /pub/secret")
	s.ok("chmod 600 /pub/secret")
	dir := filepath.Join(u.home(userA), "mnt")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.Chown(dir, userA, userA))
	out, err := u.command(userA, "mount --background "+u.cluster.Source()+" "+dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	defer func() { require.NoError(t, fuse.Detach(dir)) }()
	as := func(line string) (string, error) {
		cmd := exec.Command("/bin/sh", "-c", line)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: userA, Gid: userA, Groups: []uint32{theirGrp}}}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	text, err := as("echo mine > pub/m && cat pub/m")
	require.NoError(t, err, text)
	assert.Equal(t, "mine\n", text)
	_, err = as("cat pub/secret")
	require.Error(t, err)
	require.Zero(t, u.failures())
	assert.Contains(t, s.ok("stat --json /pub/m"), `"uid":31337`)
}
