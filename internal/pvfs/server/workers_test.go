package server_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// fewWorkersTimeout is for calls between servers: no machine needs that long for the work itself.
const fewWorkersTimeout = 5 * time.Minute

// TestFewWorkers: servers with very few workers do not deadlock, although their handlers often call each
// other.
func TestFewWorkers(t *testing.T) {
	opts := spread(2, 1, 2, 6)
	opts.Server = func(_ int, cfg *server.Config) {
		cfg.RPC.Workers = 2
		cfg.Calls.Timeout = fewWorkersTimeout
	}
	c := pvfstest.Start(t, opts)
	k := newClient(t, c)
	u := root(t, c)
	var dirs []proto.Handle
	for i := range 4 {
		d, err := u.mkdir(c.FS.Root, fmt.Sprint("d", i), 0o777)
		require.NoError(t, err)
		dirs = append(dirs, d)
	}
	began := time.Now()
	var wait sync.WaitGroup
	for i := range 12 {
		wait.Go(func() {
			for j := range 6 {
				if err := makeFile(k, u, dirs[(i+j)%len(dirs)], i%2, fmt.Sprintf("f%d-%d", i, j)); err != nil {
					t.Errorf("client %d, file %d: %v", i, j, err)
				}
			}
		})
	}
	wait.Wait()
	require.Less(t, time.Since(began), fewWorkersTimeout, "somebody waited until a time-out")
	n := 0
	for _, d := range dirs {
		all, err := u.list(d, 100)
		require.NoError(t, err)
		n += len(all)
	}
	require.Equal(t, 12*6, n)
}

// makeFile creates a file, not stuffed, over the network.
func makeFile(k *kit, u *user, dir proto.Handle, at int, name string) error {
	h := k.header(dir)
	var made proto.CreateResp
	if err := k.ask(at, &h, create(u, proto.DistStripe, proto.LayoutRandom, 2), &made); err != nil {
		return err
	}
	for {
		a := k.attr(dir)
		dd := dirdata(a.DistDir, name)
		h := proto.Header{Capability: a.Capability, Hints: proto.Hints{{Type: proto.HintHandle, Value: uint64(dir)}}}
		err := k.ask(k.owner(dd), &h, &proto.CrDirentReq{
			Cred: k.cred, Name: name, New: made.Handle, Dir: dir, Dirdata: dd, FS: k.c.FS.ID,
		}, &proto.CrDirentResp{})
		if proto.StatusOf(err) != proto.EAGAIN {
			return err
		}
		time.Sleep(time.Millisecond) // like a client; nothing depends on it
	}
}
