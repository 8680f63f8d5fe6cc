package server_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestSecondAddress: nothing listens at the first address of each server.
func TestSecondAddress(t *testing.T) {
	k := newKit(t, pvfstest.Options{Method: pvfstest.TCP, Config: func(g *config.GenOptions) {
		for i := range g.Servers {
			g.Servers[i].Address = "tcp://127.0.0.1:1," + g.Servers[i].Address
		}
	}})
	f := k.create(0, 2, stripe.Default(proto.DistStripe))
	f.write(0, pattern(200000, 1))
	var got proto.TreeGetFileSizeResp
	require.NoError(t, k.ask(0, nil, &proto.TreeGetFileSizeReq{FS: k.c.FS.ID, Cred: k.cred, Handles: f.attr.Datafiles}, &got))
	require.Equal(t, make([]proto.Status, 2), got.Errors)
	require.Equal(t, int64(200000), f.layout.Size(got.Sizes))
}

// TestDatafilesAhead makes many files at once: no datafile is given out twice, and none is lost.
func TestDatafilesAhead(t *testing.T) {
	k := newKit(t, pvfstest.Options{Config: func(g *config.GenOptions) { g.NoStuffing = true }})
	const clients, files = 8, 40
	var mu sync.Mutex
	owner := map[proto.Handle]proto.Handle{}
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			for range files {
				var made proto.CreateResp
				err := k.ask(0, &k.root, &proto.CreateReq{
					FS: k.c.FS.ID, Cred: k.cred, Datafiles: 2, Layout: proto.Layout{Algorithm: proto.LayoutRoundRobin},
					Attr: proto.Attr{Perms: 0o644, Mask: proto.AttrCreate, Type: proto.TypeMetafile, Dist: stripe.Default(proto.DistStripe)},
				}, &made)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, h := range made.Attr.Datafiles {
					if first, twice := owner[h]; twice {
						t.Errorf("datafile %d is of %d and of %d", h, first, made.Handle)
					}
					owner[h] = made.Handle
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	require.Len(t, owner, 2*clients*files)

	// Each datafile of the other server is in a file or in the pool.
	k.c.Stop(0) // waits for a batch that is being fetched
	k.c.Start(0)
	there, pooled := 0, 0
	require.NoError(t, k.c.Store(1).View(func(tx *store.Tx) error {
		for o, err := range tx.Objects() {
			if err != nil {
				return err
			}
			if o.Type == proto.TypeDatafile {
				there++
			}
		}
		return nil
	}))
	require.NoError(t, k.c.Store(0).View(func(tx *store.Tx) error {
		for range tx.Pools() {
			pooled++
		}
		return nil
	}))
	require.Equal(t, clients*files+pooled, there)
}

// TestUnstuffWithoutServer needs a datafile of a stopped server: it fails, and succeeds after the restart of that server.
func TestUnstuffWithoutServer(t *testing.T) {
	k := newKit(t, pvfstest.Options{})
	var made proto.CreateResp
	require.NoError(t, k.ask(0, &k.root, &proto.CreateReq{
		FS: k.c.FS.ID, Cred: k.cred, Datafiles: 2, Layout: proto.Layout{Algorithm: proto.LayoutRoundRobin},
		Attr: proto.Attr{Perms: 0o644, Mask: proto.AttrCreate, Type: proto.TypeMetafile, Dist: stripe.Default(proto.DistStripe)},
	}, &made))
	require.True(t, made.Stuffed)
	k.c.Stop(1)
	h := k.header(made.Handle)
	req := &proto.UnstuffReq{Handle: made.Handle, FS: k.c.FS.ID, Mask: proto.AttrUnstuff, Cred: k.cred}
	require.NotEqual(t, proto.OK, k.status(0, &h, req))
	k.c.Start(1)
	require.Equal(t, proto.OK, k.status(0, &h, req))
	require.Len(t, k.attr(made.Handle).Datafiles, 2)
}
