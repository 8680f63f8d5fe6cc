package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// bound makes a socket with a name, as if a device had it.
func bound(t testing.TB, dir, name string) (fd int) {
	t.Helper()
	fd, err := newSocket()
	require.NoError(t, err)
	require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(dir, name)}))
	require.NoError(t, unix.Listen(fd, 1))
	t.Cleanup(func() { closeFD(fd) })
	return fd
}

// abandoned makes names as processes leave them that are killed.
func abandoned(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		fd, err := newSocket()
		require.NoError(t, err)
		require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(dir, name)}))
		closeFD(fd)
	}
}

// names lists the sockets of a directory.
func names(t testing.TB, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Type() == os.ModeSocket {
			list = append(list, e.Name())
		}
	}
	return list
}

// TestManyNamesCostNothing: opening, listening and connecting look at as many names among 4,096 as among 10, need
// no lock, and no other device notices them.
func TestManyNamesCostNothing(t *testing.T) {
	const many = 4096
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	if limit.Cur < many+100 {
		t.Skipf("%d descriptors are too few for %d sockets", limit.Cur, many)
	}
	for _, n := range []int{10, many} {
		dir := t.TempDir()
		for i := range n {
			bound(t, dir, fmt.Sprint("name-", i))
		}
		lock, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		require.NoError(t, unix.Flock(lock, unix.LOCK_EX))
		a, b := openDevice(t, dir, ""), openDevice(t, dir, "b")
		c := openDevice(t, dir, "c")
		f := newFixture(t, a, b, c)
		f.connect(openPort(t, a, reliable()), openPort(t, b, reliable()))
		for _, d := range f.devs {
			require.Equal(t, uint64(sweepNames), d.Stats().Looked, "%d names", n)
			require.Zero(t, d.Stats().Swept)
			require.Zero(t, d.Stats().Probed)
		}
		require.Len(t, names(t, dir), n+2)
		closeFD(lock)
	}
}

// TestSweepsGoOn: the opens together find all dead names, wherever they are in the directory, and leave the others.
func TestSweepsGoOn(t *testing.T) {
	dir := t.TempDir()
	const n = 100
	for i := range n {
		bound(t, dir, fmt.Sprint("live-", i))
		abandoned(t, dir, fmt.Sprint("dead-", i))
	}
	swept := uint64(0)
	for range 2*n/sweepNames + 2 {
		d := openDevice(t, dir, "")
		swept += d.Stats().Swept
		require.NoError(t, d.Close())
	}
	require.Equal(t, uint64(n), swept)
	require.Len(t, names(t, dir), n)
}

// TestDrafts: of the sockets without a name, those of dead processes are removed.
func TestDrafts(t *testing.T) {
	dir := t.TempDir()
	dead := newChild(t, "exit", dir)
	require.NoError(t, dead.cmd.Wait())
	leftover := fmt.Sprintf("~n.%d.01234567", dead.cmd.Process.Pid)
	begun := fmt.Sprintf("~n.%d.01234567", os.Getpid()) // perhaps its bind has not returned
	live := fmt.Sprintf("~m.%d.01234567", dead.cmd.Process.Pid)
	abandoned(t, dir, leftover, begun, "~4711.1")
	bound(t, dir, live) // of a process that we do not see
	plain := fmt.Sprintf("~p.%d.01234567", dead.cmd.Process.Pid)
	require.NoError(t, os.WriteFile(filepath.Join(dir, plain), nil, 0o600))
	openDevice(t, dir, "")
	require.ElementsMatch(t, []string{begun, live, "~4711.1"}, names(t, dir))
	require.FileExists(t, filepath.Join(dir, plain))

	for _, file := range []string{"~", "~lock", "~a.1", "a.1.01234567", "~a.x.01234567", "~a.-1.01234567", "~a.1.0123456"} {
		_, ok := draftPID(file)
		require.False(t, ok, file)
	}
	pid, ok := draftPID(draftOf("a.b"))
	require.True(t, ok)
	require.Equal(t, os.Getpid(), pid)
}

// TestCursorOfAnybody: a sweep works with any contents of the cursor file.
func TestCursorOfAnybody(t *testing.T) {
	for _, content := range [][]byte{
		nil, []byte("abc"), binary.NativeEndian.AppendUint64(nil, 1<<63), binary.NativeEndian.AppendUint64(nil, 1<<63-1),
		binary.NativeEndian.AppendUint64(nil, 12345), make([]byte, 100),
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, cursorName), content, 0o600))
		abandoned(t, dir, "dead")
		openDevice(t, dir, "")
		openDevice(t, dir, "")
		require.Empty(t, names(t, dir), "%q", content)
	}
	dir := t.TempDir()
	require.NoError(t, os.Symlink("elsewhere", filepath.Join(dir, cursorName)))
	openDevice(t, dir, "n")
	require.NoFileExists(t, filepath.Join(dir, "elsewhere"))
}

// TestKilledWhileOpening kills processes that open and close devices without a pause. A device that lives keeps its
// name, and the next opens remove all others.
func TestKilledWhileOpening(t *testing.T) {
	rng := newRand(t)
	dir := t.TempDir()
	b := openDevice(t, dir, "live")
	for range 4 * kills() {
		c := startChild(t, "opener", dir)
		for range rng.IntN(8) {
			c.line(t)
		}
		c.kill()
	}
	a := openDevice(t, dir, "")
	f := newFixture(t, a, b)
	f.connect(openPort(t, a, reliable()), openPort(t, b, reliable()))
	for range 2 * (kills() + 1) { // each kill leaves at most a name and a draft
		require.NoError(t, openDevice(t, dir, "").Close())
	}
	require.Equal(t, []string{"live"}, names(t, dir))
}

// childOpener opens and closes devices for ever.
func childOpener(dir string) error {
	fmt.Println("ready")
	for i := 0; ; i++ {
		fmt.Println(i)
		d, err := Provider{Dir: dir}.Open(nic.Config{Listen: fmt.Sprintf("opener-%d-%d", os.Getpid(), i)})
		if err != nil {
			return err
		}
		if err := d.Close(); err != nil {
			return err
		}
	}
}

// TestOneNameManyKilled: processes that die while they have a name hand it on, and no two have it at once.
func TestOneNameManyKilled(t *testing.T) {
	dir := t.TempDir()
	const together = 4
	takers := make(chan error, together)
	for range together {
		go func() {
			for range kills() {
				c := newChild(t, "taker", dir)
				said, err := c.out.ReadString('\n')
				_ = c.cmd.Wait() // it kills itself, and c.err is complete
				if said != "taken\n" {
					takers <- fmt.Errorf("%q: %w: %s", said, err, c.err)
					return
				}
			}
			takers <- nil
		}()
	}
	for range together {
		require.NoError(t, <-takers)
	}
	openDevice(t, dir, "contested")
}

// childTaker takes a name that others want, too, and dies with it. Whoever has the name has a record lock as well. The
// kernel gives up the locks of a dying process when it closes its descriptors, and ends its sockets after that.
func childTaker(dir string) error {
	lock, err := unix.Open(filepath.Join(dir, "holder"), unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	for {
		_, err := Provider{Dir: dir}.Open(nic.Config{Listen: "contested"})
		if errors.Is(err, nic.ErrNameTaken) {
			continue
		}
		if err == nil {
			err = unix.FcntlFlock(uintptr(lock), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
		}
		if err != nil {
			return err
		}
		fmt.Println("taken")
		return unix.Kill(os.Getpid(), unix.SIGKILL)
	}
}

// childExit ends at once.
func childExit(string) error { return nil }
