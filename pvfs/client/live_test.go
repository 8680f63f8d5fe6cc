package client_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

var ctx = context.Background()

// mount mounts the file system of a cluster.
func mount(t testing.TB, c *pvfstest.Cluster, opt client.Options) *client.FS {
	t.Helper()
	opt.Endpoint = c.Endpoint()
	opt.User = &client.Identity{UID: 0, Groups: []uint32{0}}
	opt.Seed = cmp.Or(opt.Seed, 1)
	f, err := client.Mount(ctx, c.Source(), opt)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func write(t testing.TB, f *client.FS, name, text string) {
	t.Helper()
	file, err := f.Create(ctx, name)
	require.NoError(t, err)
	_, err = file.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

func TestIsAnFS(t *testing.T) {
	isAnFS(t, mount(t, pvfstest.Start(t, pvfstest.Options{}), client.Options{}))
}

func isAnFS(t *testing.T, f *client.FS) {
	write(t, f, "hello.txt", "hello")
	write(t, f, "empty", "")
	require.NoError(t, f.MkdirAll(ctx, "a/b/c", 0o755))
	write(t, f, "a/b/c/long", strings.Repeat("0123456789", 200))
	require.NoError(t, f.Symlink(ctx, "b/c/long", "a/link"))
	for i := range 20 {
		write(t, f, fmt.Sprintf("a/b/f%02d", i), fmt.Sprint(i))
	}
	require.NoError(t, fstest.TestFS(f, "hello.txt", "empty", "a/b/c/long", "a/link", "a/b/f19"))
	sub, err := fs.Sub(f, "a/b")
	require.NoError(t, err)
	text, err := fs.ReadFile(sub, "f07")
	require.NoError(t, err)
	assert.Equal(t, "7", string(text))

	stopped, cancel := context.WithCancel(ctx)
	cancel()
	_, err = fs.ReadFile(f.WithContext(stopped), "hello.txt")
	assert.ErrorIs(t, err, context.Canceled)
}

func TestSources(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{})
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	opt := client.Options{Endpoint: c.Endpoint(), RetryLimit: -1}
	name := c.FS.Name
	for _, source := range []string{
		c.Source(),
		c.Address(1) + "/" + name,
		c.Address(0) + "/" + name + "," + c.Address(1) + "/" + name,
		c.Source() + " /mnt pvfs2 defaults 0 0",
		file("fs.conf", c.FS.Text),
		file("pvfs2tab", "# a comment\n"+c.Source()+" /mnt pvfs2 defaults 0 0\n"),
	} {
		f, err := client.Mount(ctx, source, opt)
		require.NoError(t, err, source)
		assert.Equal(t, name, f.Name())
		for _, err := range f.Ping(ctx) {
			assert.NoError(t, err)
		}
		require.NoError(t, f.Close())
		_, err = f.StatCtx(ctx, "/x")
		assert.Error(t, err)
	}
	for source, want := range map[string]error{
		c.Address(0) + "/other":          fs.ErrNotExist,
		filepath.Join(dir, "nothing"):    fs.ErrNotExist,
		"mem://nobody-listens/" + name:   nil,
		"nomethod://somewhere/" + name:   nil,
		"tcp://127.0.0.1:1":              nil,
		file("none", "# nothing here\n"): nil,
	} {
		_, err := client.Mount(ctx, source, opt)
		require.Error(t, err, source)
		assert.Contains(t, err.Error(), "cannot mount", source)
		if want != nil {
			assert.ErrorIs(t, err, want, source)
		}
	}
}

// TestNewerServers: a mount works even if the client does not know everything in the configuration.
func TestNewerServers(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{})
	text := strings.Replace(c.FS.Text, "</Defaults>", "NewKeyword 1\n</Defaults>\n<NewSection>\nName x\n</NewSection>", 1)
	c.Reload(func(fs *config.Config) { fs.Text = text })
	_, err := config.Parse(text)
	require.Error(t, err, "a server does not take it")
	path := filepath.Join(t.TempDir(), "fs.conf")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	for _, source := range []string{c.Source(), path} {
		f, err := client.Mount(ctx, source, client.Options{Endpoint: c.Endpoint(), RetryLimit: -1})
		require.NoError(t, err, source)
		require.NoError(t, f.Close())
	}
}

// TestMistypedServer: at an address without a server, Mount does not try for long.
func TestMistypedServer(t *testing.T) {
	begun := time.Now()
	_, err := client.Mount(ctx, "tcp://127.0.0.1:1/pvfs2-fs", client.Options{})
	require.ErrorIs(t, err, bmi.ErrUnreachable)
	wallclock.Under(t, time.Since(begun), 6*time.Second, "a second of trying")
}

func TestTwoClients(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{})
	twoClients(t, mount(t, c, never), mount(t, c, never))
}

// never caches nothing.
var never = client.Options{AttrTime: -1, SizeTime: -1, NameTime: -1}

func twoClients(t *testing.T, one, two *client.FS) {
	write(t, one, "f", "first")
	text, err := fs.ReadFile(two, "f")
	require.NoError(t, err)
	assert.Equal(t, "first", string(text))
	require.NoError(t, two.Rename(ctx, "f", "g"))
	_, err = one.StatCtx(ctx, "f")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, one.Chmod(ctx, "g", 0o600))
	info, err := two.StatCtx(ctx, "g")
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode())
}

// TestDirectoryGrows: a directory is divided while several clients with old attributes fill it.
func TestDirectoryGrows(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 3, Config: func(g *config.GenOptions) {
		g.DistrDir = config.DistrDir{Initial: 1, Max: 3, Split: 8}
	}})
	all := []*client.FS{mount(t, c, client.Options{}), mount(t, c, client.Options{}), mount(t, c, client.Options{})}
	directoryGrows(t, all, 3)
	require.NoError(t, all[0].RemoveAll(ctx, "d"))
}

// directoryGrows fills a directory until it is spread over this many servers.
func directoryGrows(t *testing.T, all []*client.FS, servers int) {
	const files = 30
	clients := len(all)
	require.NoError(t, all[0].Mkdir(ctx, "d", 0o755))
	errs := make([]error, clients)
	var workers sync.WaitGroup
	for i, f := range all {
		workers.Go(func() {
			for j := range files {
				file, err := f.OpenFile(ctx, fmt.Sprintf("d/c%d-%02d", i, j), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
				if err == nil {
					err = file.Close()
				}
				errs[i] = errors.Join(errs[i], err)
			}
		})
	}
	workers.Wait()
	require.NoError(t, errors.Join(errs...))
	info, err := all[1].StatCtx(ctx, "d")
	require.NoError(t, err)
	require.Len(t, info.Attr.DistDir.Dirdata, servers)
	for _, f := range all {
		names, err := f.ReadNames(ctx, "d")
		require.NoError(t, err)
		assert.Len(t, names, clients*files)
	}
	infos, err := all[2].ReadDirPlus(ctx, "d")
	require.NoError(t, err)
	assert.Len(t, infos, clients*files)
}

// TestServerRestarts: operations that start while a server is down complete after its restart.
func TestServerRestarts(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{})
	f := mount(t, c, client.Options{RetryLimit: 60000, RetryDelay: time.Millisecond})
	write(t, f, "f", "text")
	for i := range c.Len() {
		c.Stop(i)
		done := make(chan error, 1)
		go func() {
			done <- errors.Join(f.Mkdir(ctx, fmt.Sprint("d", i), 0o755), f.Chmod(ctx, "f", 0o600))
		}()
		c.Start(i)
		require.NoError(t, <-done)
	}
	text, err := fs.ReadFile(f, "f")
	require.NoError(t, err)
	assert.Equal(t, "text", string(text))
}

func TestOverMethods(t *testing.T) {
	for _, method := range []string{pvfstest.TCP, pvfstest.ViaShm} {
		t.Run(method, func(t *testing.T) {
			f := mount(t, pvfstest.Start(t, pvfstest.Options{Method: method}), client.Options{})
			require.NoError(t, f.Mkdir(ctx, "d", 0o755))
			write(t, f, "d/f", "text")
			text, err := fs.ReadFile(f, "d/f")
			require.NoError(t, err)
			assert.Equal(t, "text", string(text))
			space, err := f.StatFS(ctx)
			require.NoError(t, err)
			assert.Positive(t, space.Total)
			require.NoError(t, f.RemoveAll(ctx, "d"))
		})
	}
}

// TestReaderClosesBesideAWriter: a user with read-only access closes the file while another user has it open and has written to
// it.
func TestReaderClosesBesideAWriter(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{})
	f := mount(t, c, client.Options{})
	writer, err := f.OpenFile(ctx, "f", os.O_WRONLY|os.O_CREATE, 0o644)
	require.NoError(t, err)
	_, err = writer.WriteAt([]byte("text"), 0)
	require.NoError(t, err)
	reader, err := f.As(client.Identity{UID: 1000, Groups: []uint32{1000}}).OpenFile(ctx, "f", os.O_RDONLY, 0)
	require.NoError(t, err)
	c.Stop(0)
	c.Start(0)
	require.NoError(t, reader.Close())
	require.NoError(t, writer.Close())
}
