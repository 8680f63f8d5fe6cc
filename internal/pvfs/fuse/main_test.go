package fuse_test

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fuse/fusetest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// far is a limit that only a hang reaches.
const far = wallclock.Patience

// TestMain runs the tests, or the child process of one.
func TestMain(m *testing.M) {
	syscall.Umask(0)
	if spec := os.Getenv(childEnv); spec != "" {
		os.Exit(child(spec))
	}
	os.Exit(m.Run())
}

// A bench has servers, a client and a mount.
type bench struct {
	cluster *pvfstest.Cluster // nil: the servers are stock ones
	source  string            // source of clients' mounts
	fs      *client.FS
	mount   *fuse.Mount
	dir     string // mount point
	work    string // an empty directory in it
}

type setup struct {
	cluster pvfstest.Options
	client  client.Options
	mount   fuse.Options
}

// start mounts a new file system, and removes it at the end of the test in any case.
func start(t *testing.T, s setup) *bench {
	t.Helper()
	fusetest.Need(t)
	cluster := pvfstest.Start(t, s.cluster)
	b := &bench{cluster: cluster, source: cluster.Source()}
	b.on(t, s)
	return b
}

// on mounts the file system of the bench.
func (b *bench) on(t *testing.T, s setup) {
	t.Helper()
	b.fs = b.client(t, s.client)
	b.dir = place(t)
	if os.Geteuid() == 0 {
		s.mount.AllowOther, s.mount.Callers = true, true
	}
	var err error
	b.mount, err = fuse.New(context.Background(), b.fs, b.dir, s.mount)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := b.mount.Close(); err != nil {
			t.Errorf("unmount: %v", err)
		}
		if mountedOn(t, b.dir) {
			t.Errorf("%s is still mounted: %v", b.dir, fuse.Detach(b.dir))
		}
	})
	b.work = b.dir + "/tree"
	require.NoError(t, os.Mkdir(b.work, 0o777))
}

// client is another client of the servers.
func (b *bench) client(t *testing.T, opt client.Options) *client.FS {
	t.Helper()
	opt.Seed = 1
	f, err := client.Mount(context.Background(), b.source, opt)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// place is an empty directory that all users can reach.
func place(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "viaduct-fuse-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.Remove(dir)) })
	return dir
}

// mountedOn reports whether a directory is a mount point.
func mountedOn(t *testing.T, dir string) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mounts")
	require.NoError(t, err)
	return strings.Contains(string(text), " "+dir+" ")
}
