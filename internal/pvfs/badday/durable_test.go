package badday_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/race"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// TestDurable repeatedly kills all servers at the moment when files were synced. Synced files exist with their names, all their
// bytes, their modes and their extended attributes.
func TestDurable(t *testing.T) {
	rounds := 6
	if testing.Short() || race.Enabled {
		rounds = 2
	}
	for _, syncMeta := range []bool{true, false} {
		t.Run(fmt.Sprintf("TroveSyncMeta=%v", syncMeta), func(t *testing.T) {
			f := newFileSystem(t, "tcp", 2, func(o *config.GenOptions) { o.NoSyncMeta = !syncMeta })
			f.start()
			var synced []string
			for round := range rounds {
				const writers, each = 4, 6
				done := make(chan string, writers*each)
				var wait sync.WaitGroup
				for w := range writers {
					c := f.mount(client.Options{RetryLimit: -1})
					wait.Go(func() {
						for i := range each {
							name := fmt.Sprintf("/r%d-w%d-%d", round, w, i)
							if putSynced(c, name) != nil {
								return
							}
							done <- name
						}
					})
				}
				for range writers * each / 2 { // in the middle of the others
					synced = append(synced, <-done)
				}
				f.kill()
				wait.Wait()
				close(done)
				for name := range done {
					synced = append(synced, name)
				}
				f.start()
				c := f.mount(fresh(patient()))
				for _, name := range synced {
					holdsSynced(t, c, name)
				}
			}
			require.NotEmpty(t, synced)
		})
	}
}

func entryOf(name string) entry {
	return entry{kind: "file", number: uint64(len(name)) + uint64(name[len(name)-1]), data: 150_000, size: 150_000}
}

// putSynced makes a file and syncs it.
func putSynced(c *client.FS, name string) error {
	file, err := c.OpenFile(background, name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	defer file.Close() // the data was synced
	if _, err := file.WriteAt(entryOf(name).bytes(), 0); err != nil {
		return err
	}
	if err := c.SetXattr(background, name, "user.k", []byte(name), 0); err != nil {
		return err
	}
	return file.Sync()
}

func holdsSynced(t *testing.T, c *client.FS, name string) {
	t.Helper()
	data, err := fs.ReadFile(c, strings.TrimPrefix(name, "/"))
	require.NoError(t, err)
	require.True(t, bytes.Equal(entryOf(name).bytes(), data), "bytes of %s", name)
	info, err := c.LstatCtx(background, name)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o640), info.Mode())
	value, err := c.GetXattr(background, name, "user.k")
	require.NoError(t, err)
	require.Equal(t, name, string(value))
}

// TestSyncReachesTheDisk traces the system calls of a server: when Sync returns, it has synced the files with the data, the
// folders with their names, and the database.
func TestSyncReachesTheDisk(t *testing.T) {
	strace := need.Program(t, "strace")
	if out, err := exec.Command(strace, "-e", "trace=none", "true").CombinedOutput(); err != nil {
		need.Unless(t, need.Trace, fmt.Errorf("%w: %s", err, out))
	}
	f := newFileSystem(t, "tcp", 1, func(o *config.GenOptions) { o.NoSyncMeta = true })
	f.start()
	pid := fmt.Sprint(f.servers[0].cmd.Process.Pid)
	log := filepath.Join(f.folder, "calls")
	tracer := exec.Command(strace, "-f", "-y", "-e", "trace=fsync,fdatasync", "-o", log, "-p", pid)
	var said lockedBuffer
	tracer.Stderr = &said
	require.NoError(t, pvfstest.StartChild(tracer))
	ended := make(chan struct{})
	go func() { _ = tracer.Wait(); close(ended) }()
	t.Cleanup(func() { _ = tracer.Process.Kill(); <-ended })
	for end := time.Now().Add(far); !strings.Contains(said.String(), "attached"); time.Sleep(time.Millisecond) {
		select {
		case <-ended:
			require.Fail(t, "strace cannot attach", said.String())
		default:
			require.True(t, time.Now().Before(end), "strace does not attach: %s", said.String())
		}
	}
	c := f.mount(client.Options{})
	file, err := c.OpenFile(background, "/file", os.O_WRONLY|os.O_CREATE, 0o644)
	require.NoError(t, err)
	_, err = file.WriteAt(make([]byte, 1000), 0)
	require.NoError(t, err)
	calls := func() (bytes, folder, database bool) {
		text, err := os.ReadFile(log)
		require.NoError(t, err)
		for line := range strings.SplitSeq(string(text), "\n") {
			bytes = bytes || strings.Contains(line, ".bstream>")
			folder = folder || strings.Contains(line, "/data/") && !strings.Contains(line, ".bstream")
			database = database || strings.Contains(line, "meta.db>")
		}
		return bytes, folder, database
	}
	wrote, _, _ := calls()
	require.False(t, wrote, "nobody has asked for it yet")
	require.NoError(t, file.Sync())
	for end := time.Now().Add(far); ; time.Sleep(10 * time.Millisecond) { // the tracer writes its log a little later
		bytes, folder, database := calls()
		if bytes && folder && database {
			break
		}
		if !assert.True(t, time.Now().Before(end), "synced: bytes %v, name of the file %v, database %v", bytes, folder, database) {
			break
		}
	}
	require.NoError(t, file.Close())
}

// lockedBuffer is a buffer that one goroutine fills and another one reads.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
