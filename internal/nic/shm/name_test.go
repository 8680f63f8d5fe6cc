package shm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

func TestNames(t *testing.T) {
	for _, name := range []string{"a", "A.b_c-9", strings.Repeat("x", 64), "..a"} {
		require.True(t, validName(name), name)
		require.True(t, validAddr(name) && validAddr("~"+name[:min(len(name), 63)]), name)
	}
	for _, name := range []string{"", ".", "..", "a/b", "a b", "~1.2", "ä", "a\x00", strings.Repeat("x", 65)} {
		require.False(t, validName(name), name)
		_, err := Provider{Dir: t.TempDir()}.Open(nic.Config{Listen: name})
		if name != "" {
			require.ErrorContains(t, err, "bad name")
		}
	}
	require.False(t, validAddr("~"))
	require.False(t, validAddr("~~a"))
}

func TestNameTaken(t *testing.T) {
	dir := t.TempDir()
	d := openDevice(t, dir, "n")
	_, err := Provider{Dir: dir}.Open(nic.Config{Listen: "n"})
	require.ErrorIs(t, err, nic.ErrNameTaken)
	require.NoError(t, d.Close())
	require.NoFileExists(t, filepath.Join(dir, "n"))
	openDevice(t, dir, "n")

	server := startChild(t, "name", dir)
	_, err = Provider{Dir: dir}.Open(nic.Config{Listen: "server"})
	require.ErrorIs(t, err, nic.ErrNameTaken)
	server.kill()
	require.FileExists(t, filepath.Join(dir, "server"))
	openDevice(t, dir, "server")
}

func TestOpenSweepsStaleNames(t *testing.T) {
	dir := t.TempDir()
	server := startChild(t, "name", dir)
	server.kill()
	stranger := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(stranger, nil, 0o600))
	live := openDevice(t, dir, "live")
	require.NoFileExists(t, filepath.Join(dir, "server"))
	openDevice(t, dir, "")
	require.FileExists(t, filepath.Join(dir, "live"))
	require.FileExists(t, stranger, "removed what is no socket")
	// The live one must not have noticed.
	f := newFixture(t, live)
	f.none(live, nic.EventError)
	require.Zero(t, live.Stats().Probed)
	require.Zero(t, live.Stats().HalfOpen)
}

func TestLongDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 100))
	b, a := openDevice(t, dir, strings.Repeat("b", 64)), openDevice(t, dir, "")
	f := newFixture(t, a, b)
	f.connect(openPort(t, a, reliable()), openPort(t, b, reliable()))
}

func TestDirectoryMustBeOurs(t *testing.T) {
	open := func(dir string) error {
		d, err := Provider{Dir: dir}.Open(nic.Config{})
		if err == nil {
			require.NoError(t, d.Close())
		}
		return err
	}
	base := t.TempDir()
	loose := filepath.Join(base, "loose")
	require.NoError(t, os.Mkdir(loose, 0o700))
	require.NoError(t, os.Chmod(loose, 0o770))
	require.ErrorIs(t, open(loose), os.ErrPermission)
	require.NoError(t, os.Chmod(loose, 0o755))
	require.NoError(t, open(loose))
	link := filepath.Join(base, "link")
	require.NoError(t, os.Symlink(loose, link))
	require.Error(t, open(link))
	require.ErrorContains(t, open("relative"), DirEnv)
	require.ErrorContains(t, open(filepath.Join(base, "a", "b")), DirEnv)

	fresh := filepath.Join(base, "fresh")
	d := openDevice(t, fresh, "n")
	st, err := os.Stat(fresh)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), st.Mode().Perm())
	st, err = os.Stat(filepath.Join(fresh, "n"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm())
	require.NoError(t, d.Close())

	need.AsRoot(t)
	require.NoError(t, os.Chown(loose, 12345, 12345))
	require.ErrorIs(t, open(loose), os.ErrPermission)
}

func TestDefaultDirectory(t *testing.T) {
	run := t.TempDir()
	t.Setenv(DirEnv, "")
	t.Setenv("XDG_RUNTIME_DIR", run)
	require.Equal(t, filepath.Join(run, "viaduct"), defaultDir())
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(run, "missing"))
	require.Equal(t, fmt.Sprintf("/tmp/viaduct-%d", os.Geteuid()), defaultDir())
	t.Setenv(DirEnv, "/elsewhere")
	require.Equal(t, "/elsewhere", defaultDir())
}

// TestOtherUser needs root: a process of another user gets neither one of our
// names nor, even if it could reach the socket, a connection.
func TestOtherUser(t *testing.T) {
	need.AsRoot(t)
	// A directory that every user can reach, and a binary that every user can
	// run.
	dir, err := os.MkdirTemp("", "viaduct-test-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	bin := filepath.Join(dir, "test.bin")
	data, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(bin, data, 0o755))
	server := openDevice(t, dir, "server")
	require.NoError(t, os.Chmod(filepath.Join(dir, "server"), 0o666))
	other := filepath.Join(dir, "other")
	require.NoError(t, os.Mkdir(other, 0o700))
	require.NoError(t, os.Chown(other, 12345, 12345))

	c := exec.Command(bin)
	c.Env = append(os.Environ(), childEnv+"=stranger", childDir+"="+dir)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	out := make(chan string, 1)
	go func() {
		text, _ := c.CombinedOutput()
		out <- string(text)
	}()
	f := newFixture(t, server)
	for text := ""; text == ""; {
		f.poll()
		select {
		case text = <-out:
			require.Contains(t, text, "open: permission\n")
			require.Contains(t, text, "connect: closed\n")
		default:
		}
	}
	require.Equal(t, uint64(1), server.Stats().Strangers)
	f.none(server, nic.EventConnectRequest)
}
