package badday_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/fstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/fstest/clientfs"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/internal/sim"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// TestRestart compares random operations with the oracle. Meanwhile servers stop, or vanish in the middle of their work, and come
// back, one of them or both at once. At the end the stores have no leftovers.
func TestRestart(t *testing.T) {
	for _, method := range pvfstest.Methods {
		t.Run(method, func(t *testing.T) {
			c := pvfstest.Start(t, pvfstest.Options{Method: method, Config: func(o *config.GenOptions) {
				o.DistrDir = config.DistrDir{Initial: 1, Max: 2, Split: 3}
			}})
			rng := rand.New(rand.NewPCG(1, 1))
			restarts := 0
			fstest.Random(t, func(fstest.T) *fstest.Subject {
				s := &fstest.Subject{As: clientfs.New(mounted(t, c), "/")}
				if testing.Short() && method != pvfstest.Memory {
					s.Seeds = sim.SeedsAtMost(t, 1)
				}
				s.Disturb = func(fstest.T) {
					restarts++
					restart(c, rng)
				}
				return s
			})
			if t.Failed() {
				return
			}
			require.NotZero(t, restarts)
			t.Logf("%d restarts", restarts)
			inOrder(t, c)
		})
	}
}

// mounted is a client that retries while a server is down.
func mounted(t *testing.T, c *pvfstest.Cluster) *client.FS {
	t.Helper()
	f, err := client.Mount(context.Background(), c.Source(), client.Options{
		User: &client.Identity{Groups: []uint32{0}}, Seed: 1, RetryLimit: 10000, RetryDelay: time.Millisecond,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

// restart ends one server or all, and starts them again.
func restart(c *pvfstest.Cluster, rng *rand.Rand) {
	from, to := 0, c.Len()
	if rng.IntN(3) > 0 {
		from = rng.IntN(c.Len())
		to = from + 1
	}
	for i := from; i < to; i++ {
		if rng.IntN(2) == 0 {
			c.Stop(i)
		} else {
			c.Kill(i)
		}
	}
	for i := from; i < to; i++ {
		c.Start(i)
	}
}

// inOrder requires that the stores and the references between them have no problems, except orphans of a server that vanished.
func inOrder(t *testing.T, c *pvfstest.Cluster) {
	t.Helper()
	c.WaitReady()
	tree := store.Tree{Root: c.FS.Root, Owner: c.FS.Owner}
	for i := range c.Len() {
		c.Stop(i)
		s, err := store.Open(c.Dir(i), store.Options{ReadOnly: true})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		problems, err := s.Check(false)
		require.NoError(t, err)
		require.Empty(t, problems)
		tree.Stores = append(tree.Stores, s)
	}
	problems, err := store.CheckTree(tree, false)
	require.NoError(t, err)
	for _, p := range problems {
		require.True(t, isOrphan(p.What), p)
	}
}

// TestRenameAgain: a rename that stopped halfway leaves both names. When it is repeated, the old name is removed, and the file
// stays.
func TestRenameAgain(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	f := mounted(t, c)
	require.NoError(t, write(f, "/a", entry{kind: "file", data: 10, size: 10}))
	require.NoError(t, c.Store(0).Update(func(tx *store.Tx) error {
		root, err := tx.Get(c.FS.Root)
		if err != nil {
			return err
		}
		at := root.DistDir.Dirdata[0]
		h, err := tx.Lookup(at, "a")
		if err != nil {
			return err
		}
		return tx.Link(at, "b", h)
	}))
	require.NoError(t, f.Rename(background, "/a", "/b"))
	require.NoError(t, sameNames(f, "/", []string{"b", "lost+found"}))
	require.NoError(t, f.Rename(background, "/b", "/./b"))
	data, err := fs.ReadFile(f, "b")
	require.NoError(t, err)
	require.Equal(t, entry{data: 10, size: 10}.bytes(), data)
	inOrder(t, c)
}

// TestNeededServerAway: a server that needs another one that is down says so, and a client with retries asks again.
func TestNeededServerAway(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Config: func(o *config.GenOptions) { o.NoStuffing = true }})
	mount := func(opt client.Options) *client.FS {
		f, err := client.Mount(background, c.Source(), opt)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, f.Close()) })
		return f
	}
	hasty := mount(client.Options{RetryLimit: -1})
	heard := &listener{word: "no route to host", heard: make(chan struct{})}
	opt := patient() // and of a seed that chooses both servers
	opt.Log = slog.New(slog.NewTextHandler(heard, nil))
	tireless := mount(opt)
	c.Stop(1)
	for i := 0; ; i++ { // until the stock of datafiles is used up
		require.Less(t, i, 5000)
		err := write(hasty, fmt.Sprint("/used", i), entry{kind: "file"})
		if errors.Is(err, syscall.EHOSTUNREACH) {
			break
		}
	}
	const files = 8 // some are on the running server, which needs the other one
	done := make(chan error, files)
	for i := range files {
		go func() { done <- write(tireless, fmt.Sprint("/file", i), entry{kind: "file", data: 9, size: 9}) }()
	}
	select {
	case <-heard.heard:
	case err := <-done:
		require.FailNow(t, "a file was made without the server that is away", "err: %v", err)
	}
	c.Start(1)
	for range files {
		require.NoError(t, <-done)
	}
}

// TestSizeOnServerAway: all servers with data of a file are needed for its size. While one is down, a client with retries asks
// again, whether it asks that server or another one that needs it.
func TestSizeOnServerAway(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Config: func(o *config.GenOptions) { o.NoStuffing = true }})
	require.NoError(t, write(mounted(t, c), "/file", entry{kind: "file", data: 200_000, size: 200_000}))
	for i := range c.Len() {
		heard := &listener{word: "trying again", heard: make(chan struct{})}
		opt := patient()
		opt.AttrTime, opt.SizeTime = -1, -1
		opt.Log = slog.New(slog.NewTextHandler(heard, nil))
		f, err := client.Mount(background, c.Source(), opt)
		require.NoError(t, err)
		_, err = f.StatCtx(background, "/file") // so that only the size is missing
		require.NoError(t, err)
		c.Stop(i)
		done := make(chan error, 1)
		go func() {
			info, err := f.StatCtx(background, "/file")
			if err == nil && info.Size() != 200_000 {
				err = fmt.Errorf("%d bytes", info.Size())
			}
			done <- err
		}()
		select {
		case <-heard.heard:
		case err := <-done:
			require.FailNow(t, "it was not asked again", "server %d, err: %v", i, err)
		}
		c.Start(i)
		require.NoError(t, <-done)
		require.NoError(t, f.Close())
	}
}

// A listener is a log that can wait for a word.
type listener struct {
	word  string
	once  sync.Once
	heard chan struct{}
}

func (l *listener) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte(l.word)) {
		l.once.Do(func() { close(l.heard) })
	}
	return len(line), nil
}
