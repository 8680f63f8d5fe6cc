package pvfs

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/notifytest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse/fusetest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
)

// empty is a mount point. At the end nothing may be mounted on it.
func empty(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() {
		if mounts, err := os.ReadFile("/proc/self/mounts"); err == nil && strings.Contains(string(mounts), " "+dir+" ") {
			t.Errorf("%s is still mounted: %v", dir, fuse.Detach(dir))
		}
	})
	return dir
}

// TestMount mounts until an interrupt. If systemd started the command, it gets a notification of both.
func TestMount(t *testing.T) {
	fusetest.Need(t)
	manager := notifytest.New(t)
	t.Setenv("NOTIFY_SOCKET", manager.Path())
	s := newShell(t)
	s.in = []byte("some bytes")
	s.ok("put " + s.source + "/f")

	dir := empty(t)
	ctx, interrupt := context.WithTimeout(context.Background(), time.Minute)
	defer interrupt()
	read, write := io.Pipe()
	var errs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		app := &App{Out: write, Err: &errs}
		code <- app.Main(ctx, []string{"mount", s.source, dir})
		write.Close()
	}()
	line := make([]byte, 200)
	n, err := read.Read(line)
	if err != nil {
		<-code
		t.Fatal(errs.String())
	}
	assert.Contains(t, string(line[:n]), "is mounted on "+dir)
	assert.Equal(t, "READY=1", manager.Next())
	got, err := os.ReadFile(filepath.Join(dir, "f"))
	assert.NoError(t, err)
	assert.Equal(t, "some bytes", string(got))
	interrupt()
	assert.Equal(t, ExitOK, <-code, "an interrupt is how it ends")
	assert.Equal(t, "STOPPING=1", manager.Next())
	assert.NoFileExists(t, filepath.Join(dir, "f"))
}

// TestMountMistakes tries wrong command lines.
func TestMountMistakes(t *testing.T) {
	s := newShell(t)
	assert.Contains(t, s.no(ExitUsage, "mount"), "takes a SOURCE and a DIR")
	assert.Contains(t, s.no(ExitUsage, "mount 127.0.0.1:3334/pvfs2-fs /tmp"), `"127.0.0.1:3334/pvfs2-fs" is no source of a file system: want tcp://HOST:PORT/NAME`)
	assert.Contains(t, s.no(ExitUsage, "mount --keep -1s /tmp"), "cannot be negative")
	assert.Contains(t, s.no(ExitUsage, "mount -o keep=-1 /tmp"), "cannot be negative")
	assert.Contains(t, s.no(ExitUsage, "mount -o ro,keep=soon /tmp"), "want a time like 5s")
	assert.Contains(t, s.no(ExitUsage, "mount -o allow_othr /tmp"), "mount has no option -o allow_othr; it has ro, allow_other, ")
	if fuse.Available() == nil {
		assert.Contains(t, s.no(ExitUsage, "mount "+s.source+"/below "+t.TempDir()), "not the top")
		assert.Contains(t, s.no(ExitFailed, "mount "+s.source+" "+t.TempDir()+"/none"), "no such file")
	}
}

// command is the command in a child process.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), commandEnv+"=1")
	return cmd
}

// TestMountInBackground mounts as mount(8) does: the command returns, and the mount stays.
func TestMountInBackground(t *testing.T) {
	fusetest.Need(t)
	source := pvfstest.Start(t, pvfstest.Options{Method: pvfstest.TCP}).Source()
	dir := empty(t)
	log := filepath.Join(t.TempDir(), "log")
	args := Arguments([]string{"/sbin/mount.pvfs", source, dir, "-sn", "-o", "rw,_netdev,noatime,nosuid,keep=0.5,log=" + log})
	out, err := command(args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "file system pvfs2-fs is mounted on "+dir+"\n", string(out))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("bytes"), 0o644))
	assert.FileExists(t, log)

	out, err = command(args...).CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, ExitFailed, exit.ExitCode())
	assert.Contains(t, string(out), "is mounted on "+dir+" already; unmount it first")
	assert.Equal(t, 1, strings.Count(string(out), "\n"), "it is said once: %s", out)
	require.NoError(t, fuse.Detach(dir))
}

// TestMountReadOnly refuses changes.
func TestMountReadOnly(t *testing.T) {
	fusetest.Need(t)
	source := pvfstest.Start(t, pvfstest.Options{Method: pvfstest.TCP}).Source()
	dir := empty(t)
	tab := filepath.Join(t.TempDir(), "pvfs2tab")
	require.NoError(t, os.WriteFile(tab, []byte(source+" /mnt pvfs2 defaults 0 0\n"), 0o600))
	out, err := command("mount", "--background", "--read-only", tab, dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.ErrorIs(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o644), syscall.EROFS)
	_, err = os.ReadDir(dir)
	assert.NoError(t, err)
	require.NoError(t, fuse.Detach(dir))
}

// TestMountIsKilled: after the process of a mount was killed, its directory returns an error until it is unmounted.
func TestMountIsKilled(t *testing.T) {
	fusetest.Need(t)
	source := pvfstest.Start(t, pvfstest.Options{Method: pvfstest.TCP}).Source()
	dir := empty(t)
	cmd := command("mount", source, dir)
	said, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	require.NoError(t, pvfstest.StartChild(cmd))
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // in case the test ends earlier
	line := make([]byte, 200)
	if _, err := said.Read(line); err != nil {
		_ = cmd.Wait()
		t.Fatal(errs.String())
	}
	f, err := os.Create(filepath.Join(dir, "f"))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	_, err = f.WriteString("bytes")
	assert.Error(t, err)
	_, err = os.ReadDir(dir)
	assert.ErrorIs(t, err, syscall.ENOTCONN)
	out, err := command("mount", source, dir).CombinedOutput()
	assert.Error(t, err)
	assert.Contains(t, string(out), "whose process has ended; unmount it first (umount "+dir+")")
	require.NoError(t, fuse.Detach(dir))
}
