package shm

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Users without any rights, and a group that the first is in.
const (
	strangerID = 31337
	otherID    = 31338
	strangeGrp = 31400
)

// commons is a folder that all users can reach: it has the place of open names, one for a user's own devices, and a copy of
// this test's binary.
type commons struct{ root, open, bin string }

// newCommons needs root, as all tests with other users do.
func newCommons(t testing.TB) *commons {
	t.Helper()
	need.AsRoot(t)
	root, err := os.MkdirTemp("", "viaduct-test-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	require.NoError(t, os.Chmod(root, 0o755))
	c := &commons{root: root, open: filepath.Join(root, "open"), bin: filepath.Join(root, "test.bin")}
	data, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(c.bin, data, 0o755))
	require.NoError(t, os.Chmod(c.bin, 0o755))
	require.NoError(t, os.Mkdir(c.open, 0o755))
	for _, uid := range []int{0, strangerID, otherID} {
		require.NoError(t, os.Mkdir(c.own(uid), 0o700))
		require.NoError(t, os.Chown(c.own(uid), uid, uid))
		require.NoError(t, os.Mkdir(c.opened(uid), 0o755))
		require.NoError(t, os.Chmod(c.opened(uid), 0o755))
		require.NoError(t, os.Chown(c.opened(uid), uid, uid))
	}
	return c
}

// own is the folder of names for one user, opened that of names for all users.
func (c *commons) own(uid int) string    { return filepath.Join(c.root, strconv.Itoa(uid)) }
func (c *commons) opened(uid int) string { return filepath.Join(c.open, strconv.Itoa(uid)) }

// start starts a role as another user.
func (c *commons) start(t testing.TB, role string, uid int, env ...string) *child {
	t.Helper()
	return c.run(t, true, role, uid, env...)
}

// launch starts a role that becomes ready only after this process has answered it.
func (c *commons) launch(t testing.TB, role string, uid int, env ...string) *child {
	t.Helper()
	return c.run(t, false, role, uid, env...)
}

func (c *commons) run(t testing.TB, wait bool, role string, uid int, env ...string) *child {
	t.Helper()
	ch := newChild(t, role, c.own(uid), func(cmd *exec.Cmd) {
		cmd.Path, cmd.Args[0] = c.bin, c.bin
		cmd.Dir = "/"
		cmd.Env = append(append(cmd.Env, OpenDirEnv+"="+c.open), env...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{
			Uid: uint32(uid), Gid: uint32(uid), Groups: []uint32{strangeGrp},
		}}
	})
	if wait {
		require.Equal(t, "ready\n", ch.line(t))
	}
	return ch
}

// server opens a device that all users may connect to.
func (c *commons) server(t testing.TB, name string) *Device {
	t.Helper()
	return c.device(t, Provider{Dir: c.own(0), OpenDir: c.open, Users: nic.Users{Others: true}}, name)
}

func (c *commons) device(t testing.TB, pr Provider, name string) *Device {
	t.Helper()
	dev, err := pr.Open(nic.Config{Listen: name, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	d := dev.(*Device)
	t.Cleanup(func() {
		if !d.closed {
			require.NoError(t, d.Close())
		}
	})
	return d
}

// stranger opens a device of this process that acts as one of another user. fixture.connect connects it as that user.
func (c *commons) stranger(t testing.TB, uid int, name string) *Device {
	t.Helper()
	dir := filepath.Join(c.root, "of-"+strconv.Itoa(uid))
	require.NoError(t, os.MkdirAll(dir, 0o755))
	d := c.device(t, Provider{Dir: dir, OpenDir: c.open}, name)
	d.euid = uint32(uid)
	return d
}

// asUser calls do in a thread of another user, so that the kernel reports that user for this process.
func asUser(t testing.TB, uid uint32, do func()) {
	t.Helper()
	if int(uid) == os.Geteuid() {
		do()
		return
	}
	failed := make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		group := uint32(strangeGrp)
		id := uintptr(uid)
		_, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 1, uintptr(unsafe.Pointer(&group)), 0)
		if errno == 0 {
			_, _, errno = unix.RawSyscall(unix.SYS_SETRESGID, id, id, id)
		}
		if errno == 0 {
			_, _, errno = unix.RawSyscall(unix.SYS_SETRESUID, id, id, id)
		}
		if errno == 0 {
			do()
		}
		failed <- errno
	}()
	require.Zero(t, <-failed)
}

// twoKinds runs a test with peers of one user, and with one of another user.
func twoKinds(t *testing.T, test func(t *testing.T, server, client func(name string) *Device)) {
	t.Run("one user", func(t *testing.T) {
		dir := t.TempDir()
		open := func(name string) *Device { return openDevice(t, dir, name) }
		test(t, open, open)
	})
	t.Run("another user", func(t *testing.T) {
		c := newCommons(t)
		test(t, func(name string) *Device { return c.server(t, name) },
			func(name string) *Device { return c.stranger(t, strangerID, name) })
	})
}
