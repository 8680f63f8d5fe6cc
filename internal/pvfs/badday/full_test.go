package badday_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// smallDisk mounts a file system of a few megabytes on a folder until the end of the test.
func smallDisk(t *testing.T, dir, options string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	need.Unless(t, need.Mount, syscall.Mount("none", dir, "tmpfs", 0, options))
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
}

// TestFullDisk fills the disks of both servers with data, with names, and with symlinks. Clients get an error, earlier files stay
// unchanged, and after a removal everything works again.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	for i := range 2 {
		smallDisk(t, fmt.Sprintf("%s/server%d", dir, i), "size=8m")
	}
	c := pvfstest.Start(t, pvfstest.Options{Dir: dir})
	f := mounted(t, c)
	require.NoError(t, f.Mkdir(background, "/kept", 0o755))
	kept := entry{kind: "file", number: 7, data: 200_000, size: 200_000}
	require.NoError(t, write(f, "/kept/file", kept))
	before, err := f.StatFS(background)
	require.NoError(t, err)

	t.Run("bytes", func(t *testing.T) {
		fills(t, f, "/kept/file", kept, func() {}, func(name string) error {
			return write(f, name, entry{kind: "file", number: 1, data: 500_000, size: 500_000})
		})
	})
	forNames, forSymlinks := 6<<20, 6<<20 // bytes of each disk
	if testing.Short() {
		forNames, forSymlinks = 64<<10, 256<<10 // hundreds of requests fill it, not thousands
	}
	require.Eventually(t, func() bool { // the bytes are removed after the names
		space, err := f.StatFS(background)
		return err == nil && space.Available+(1<<20) >= before.Available
	}, far, tick)
	for i := range 16 { // each server notices that there is room again, and makes its reserve
		require.NoError(t, write(f, fmt.Sprint("/room", i), entry{kind: "file"}))
		require.NoError(t, f.Remove(background, fmt.Sprint("/room", i)))
	}
	t.Run("names", func(t *testing.T) {
		remove := c.Ballast(forNames)
		fills(t, f, "/kept/file", kept, remove, func(name string) error { return write(f, name, entry{kind: "file"}) })
	})
	t.Run("symlinks", func(t *testing.T) {
		remove := c.Ballast(forSymlinks)
		fills(t, f, "/kept/file", kept, remove, func(name string) error { return f.Symlink(background, strings.Repeat("to/", 1000), name) })
	})
	for i := range c.Len() { // the counts are correct
		c.Stop(i)
		c.Start(i)
	}
	holdsKept(t, f, "/kept/file", kept)
	inOrder(t, c)
}

// fills creates objects until there is no room. It removes some of them and calls remove, creates others, and removes all.
func fills(t *testing.T, f *client.FS, keptName string, kept entry, remove func(), create func(name string) error) {
	t.Helper()
	require.NoError(t, f.Mkdir(background, "/fill", 0o755))
	made := 0
	name := func(i int) string { return fmt.Sprintf("/fill/%0240d", i) }
	full := func() {
		t.Helper()
		for ; ; made++ {
			require.Less(t, made, 200_000, "the disk does not get full")
			err := create(name(made))
			if err == nil {
				continue
			}
			require.ErrorIs(t, err, syscall.ENOSPC)
			break
		}
	}
	full()
	require.NotZero(t, made)
	t.Logf("%d are made", made)
	holdsKept(t, f, keptName, kept)
	_ = f.Remove(background, name(made)) // a file may exist whose data found no room
	for i := range made {
		if i%3 != 0 || i+3 > made {
			require.NoError(t, f.Remove(background, name(i)), "removals need no room")
		}
	}
	remove()
	require.NoError(t, create("/fill/again"))
	holdsKept(t, f, keptName, kept)
	require.NoError(t, f.RemoveAll(background, "/fill"))
}

func holdsKept(t *testing.T, f *client.FS, name string, e entry) {
	t.Helper()
	data := make([]byte, e.size+1)
	file, err := f.OpenFile(background, name, os.O_RDONLY, 0)
	require.NoError(t, err)
	n, _ := file.ReadAt(data, 0) // the end of the file
	require.NoError(t, file.Close())
	require.Equal(t, e.bytes(), data[:n])
}

// TestReadOnlyDisk: nothing can be written to a store any more. It can be checked, a server reports why it does not start, and
// when the store is writable again everything works.
func TestReadOnlyDisk(t *testing.T) {
	dir := t.TempDir()
	smallDisk(t, dir, "size=64m")
	c := pvfstest.Start(t, pvfstest.Options{Dir: dir, Servers: 1})
	f := mounted(t, c)
	kept := entry{kind: "file", number: 7, data: 200_000, size: 200_000}
	require.NoError(t, write(f, "/file", kept))
	c.Stop(0)
	require.NoError(t, syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""), "a closed store holds nothing open")
	out, err := says("check", "--dir", filepath.Join(dir, "server0"))
	require.NoError(t, err, "%s", out)
	conf := filepath.Join(t.TempDir(), "fs.conf")
	require.NoError(t, os.WriteFile(conf, []byte(c.FS.Text), 0o600))
	out, err = says("serve", "--config", conf, "--dir", filepath.Join(dir, "server0"))
	require.Error(t, err)
	require.Contains(t, out, "read-only file system")
	require.NoError(t, syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT, "size=64m"))
	c.Start(0)
	holdsKept(t, f, "/file", kept)
	require.NoError(t, errors.Join(f.Mkdir(background, "/d", 0o755), f.Remove(background, "/d")))
	inOrder(t, c)
}
