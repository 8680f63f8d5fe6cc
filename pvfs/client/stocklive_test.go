package client_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/stock"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/rpc"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// These tests run the tests for our servers against stock servers; docs/guides/orangefs.md.

// stockMounts mounts the file system of stock servers several times.
func stockMounts(t *testing.T, c *stock.Cluster, opt client.Options, times int) (mounts []*client.FS) {
	t.Helper()
	opt.User, opt.Key = &client.Identity{UID: 0, Groups: []uint32{0}}, c.Key()
	for range times {
		f, err := client.Mount(ctx, c.Source(), opt)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, f.Close()) })
		mounts = append(mounts, f)
	}
	return mounts
}

func TestStockFiles(t *testing.T) {
	c := stock.Start(t, stock.Options{Servers: 3, Config: smallFlows})
	mounts := stockMounts(t, c, client.Options{}, 2)
	for _, test := range []struct {
		name string
		do   func(t *testing.T)
	}{
		{"RandomIO", func(t *testing.T) { randomIO(t, mounts[0]) }},
		{"Big", func(t *testing.T) { big(t, mounts) }},
		{"Concurrent", func(t *testing.T) { concurrent(t, mounts) }},
		{"AnotherUnstuffed", func(t *testing.T) { anotherUnstuffed(t, mounts) }},
		{"FileRules", func(t *testing.T) { fileRules(t, mounts) }},
		{"Times", func(t *testing.T) { times(t, mounts) }},
		{"TwoClients", func(t *testing.T) {
			pair := stockMounts(t, c, never, 2)
			twoClients(t, pair[0], pair[1])
		}},
		{"IsAnFS", func(t *testing.T) {
			sub := stockMounts(t, stock.Start(t, stock.Options{Servers: 1}), client.Options{}, 1)
			isAnFS(t, sub[0])
		}},
	} {
		t.Run(test.name, test.do)
	}
}

// TestStockUnstuffed is the same for files that are never stuffed.
func TestStockUnstuffed(t *testing.T) {
	c := stock.Start(t, stock.Options{Servers: 2, Config: func(o *config.GenOptions) {
		smallFlows(o)
		o.NoStuffing = true
	}})
	f := stockMounts(t, c, client.Options{}, 1)[0]
	write(t, f, "small", "text")
	info, err := f.StatCtx(ctx, "small")
	require.NoError(t, err)
	require.False(t, info.Stuffed())
	require.Len(t, info.Attr.Datafiles, 2)
	randomIO(t, f)
}

// TestStockLayouts: a second client sees the distribution and the number of datafiles with which a file was made.
func TestStockLayouts(t *testing.T) {
	c := stock.Start(t, stock.Options{Servers: 4})
	mounts := stockMounts(t, c, client.Options{}, 2)
	data := pattern(rand.New(rand.NewPCG(7, 7)), 300_000)
	for i, dist := range dists {
		for datafiles := 1; datafiles <= 4; datafiles++ {
			name := fmt.Sprintf("/%d-%d", i, datafiles)
			how := client.Striping{Dist: dist, Datafiles: datafiles}
			f, err := mounts[0].OpenStriped(ctx, name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644, how)
			if dist.Name == proto.DistVar && datafiles != 2 || dist.Name == proto.DistTwoD && datafiles%2 != 0 {
				if err != nil {
					continue // the distribution determines their number
				}
			}
			require.NoError(t, err, "%v with %d datafiles", dist, datafiles)
			_, err = f.WriteAt(data, 12345)
			require.NoError(t, err, "%v with %d datafiles", dist, datafiles)
			require.NoError(t, f.Sync())
			require.NoError(t, f.Close())

			got, err := fs.ReadFile(mounts[1], strings.TrimPrefix(name, "/"))
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, got[12345:]), "%v with %d datafiles", dist, datafiles)
			info, err := mounts[1].StatCtx(ctx, name)
			require.NoError(t, err)
			if dist.Name != "" {
				require.Equal(t, dist, info.Attr.Dist, "%d datafiles", datafiles)
			}
			if dist.Name == proto.DistStripe {
				require.Len(t, info.Attr.Datafiles, datafiles, "%v", dist)
			}
		}
	}
}

// TestStockDirectories: directories that are divided while they grow, that are spread from the beginning, and that are long.
func TestStockDirectories(t *testing.T) {
	t.Run("Grows", func(t *testing.T) {
		c := stock.Start(t, stock.Options{Servers: 3, Config: func(o *config.GenOptions) {
			o.DistrDir = config.DistrDir{Initial: 1, Max: 3, Split: 8}
		}})
		// The directory is kept: the servers may have lost count of its entries.
		directoryGrows(t, stockMounts(t, c, client.Options{}, 3), 3)
	})
	t.Run("Spread", func(t *testing.T) {
		c := stock.Start(t, stock.Options{Servers: 4, Config: func(o *config.GenOptions) {
			o.DistrDir = config.DistrDir{Initial: 4, Max: 4, Split: 100}
		}})
		mounts := stockMounts(t, c, client.Options{}, 2)
		f := mounts[0]
		require.NoError(t, f.Mkdir(ctx, "d", 0o755))
		info, err := f.StatCtx(ctx, "d")
		require.NoError(t, err)
		require.Len(t, info.Attr.DistDir.Dirdata, 4)
		var want []string
		for i := range 700 {
			name := fmt.Sprintf("name-%04d", i)
			want = append(want, name)
			if i%10 == 0 {
				require.NoError(t, f.Mkdir(ctx, "d/"+name, 0o700))
			} else {
				write(t, f, "d/"+name, name[:i%9])
			}
		}
		for _, f := range mounts {
			names, err := f.ReadNames(ctx, "d")
			require.NoError(t, err)
			slices.Sort(names)
			require.Equal(t, want, names)
			infos, err := f.ReadDirPlus(ctx, "d")
			require.NoError(t, err)
			require.Len(t, infos, len(want))
			for _, info := range infos {
				i := slices.Index(want, info.Name())
				require.Equal(t, i%10 == 0, info.IsDir(), info.Name())
				if !info.IsDir() {
					require.EqualValues(t, i%9, info.Size(), info.Name())
				}
			}
		}
		for i := 1; i < 700; i += 2 {
			from, to := "d/"+want[i], "d/other-"+want[i]
			if i%4 == 1 {
				to = "d/" + want[i-1] // replaces another one, if that is a file
				if (i-1)%10 == 0 {
					require.Error(t, f.Rename(ctx, from, to))
					continue
				}
			}
			require.NoError(t, f.Rename(ctx, from, to), "%s to %s", from, to)
		}
		require.NoError(t, mounts[1].RemoveAll(ctx, "d"))
		_, err = f.ReadNames(ctx, "d")
		require.ErrorIs(t, err, fs.ErrNotExist)
	})
}

// TestStockRest tests the operations that no other test has.
func TestStockRest(t *testing.T) {
	c := stock.Start(t, stock.Options{Servers: 2})
	f := stockMounts(t, c, client.Options{}, 1)[0]
	for address, err := range f.Ping(ctx) {
		require.NoError(t, err, address)
	}
	space, err := f.StatFS(ctx)
	require.NoError(t, err)
	require.Positive(t, space.Total)
	require.Less(t, space.Available, space.Total)
	require.Len(t, space.Servers, 2)
	file, err := f.Create(ctx, "f")
	require.NoError(t, err)
	_, err = file.Write([]byte("text"))
	require.NoError(t, err)
	require.NoError(t, file.Sync())
	require.NoError(t, file.Close())

	long := bytes.Repeat([]byte("v"), proto.MaxXattrValue)
	for range 2 {
		require.NoError(t, f.SetXattr(ctx, "f", "user.long", long, 0), "the second time it replaces a long one")
		got, err := f.GetXattr(ctx, "f", "user.long")
		require.NoError(t, err)
		require.Equal(t, long, got)
	}
	require.NoError(t, f.SetXattr(ctx, "f", "user.long", long[1:], client.XattrReplace))
	require.ErrorIs(t, f.SetXattr(ctx, "f", "user.long", nil, client.XattrCreate), fs.ErrExist)
}

// TestStockRemoves: stock servers ignore the removal hint that servers of ours use, and nothing of a file is left.
func TestStockRemoves(t *testing.T) {
	c := stock.Start(t, stock.Options{Servers: 2})
	f := stockMounts(t, c, client.Options{}, 1)[0]
	ep, err := bmi.Open(ctx, bmi.Config{})
	require.NoError(t, err)
	defer func() { require.NoError(t, ep.Close()) }()
	caller := rpc.NewCaller(ep, rpc.Options{Timeout: time.Minute})
	defer func() { require.NoError(t, caller.Close()) }()
	host, err := os.Hostname()
	require.NoError(t, err)
	cred := proto.Credential{Groups: []uint32{0}, Issuer: "C:" + host, Timeout: time.Now().Add(time.Hour)}
	if key := c.Key(); key != nil {
		require.NoError(t, key.Sign(&cred))
	}
	there := func(h proto.Handle) error {
		server, ok := f.Config().Owner(h)
		require.True(t, ok)
		to, err := ep.Lookup(f.Config().Servers[server].Address)
		require.NoError(t, err)
		var resp proto.GetAttrResp
		return caller.Call(ctx, to, nil, &proto.GetAttrReq{
			Handle: h, FS: f.Config().ID, Mask: proto.AttrCommon, Cred: cred,
		}, &resp)
	}
	for i := range 16 {
		name := fmt.Sprint("f", i)
		write(t, f, name, strings.Repeat("x", 1+i*20_000)) // some are unstuffed
		info, err := f.StatCtx(ctx, name)
		require.NoError(t, err)
		objects := append(slices.Clone(info.Attr.Datafiles), info.Handle)
		for _, h := range objects {
			require.NoError(t, there(h))
		}
		if i%2 == 0 {
			require.NoError(t, f.Remove(ctx, name))
		} else {
			write(t, f, "other", "y")
			require.NoError(t, f.Rename(ctx, "other", name))
		}
		for _, h := range objects {
			require.ErrorIs(t, there(h), proto.ENOENT, "%s", name)
		}
	}
}

// TestStockServerKilled: operations that start while a server is down complete after its restart, or without retries fail at
// once. Earlier data is kept.
func TestStockServerKilled(t *testing.T) {
	c := stock.Start(t, stock.Options{Servers: 2, Config: func(o *config.GenOptions) {
		smallFlows(o)
		o.NoSyncMeta, o.SyncData = false, true // killed stock servers lose data that they have not synced
	}})
	patient := stockMounts(t, c, client.Options{RetryLimit: 1000, RetryDelay: 10 * time.Millisecond}, 1)[0]
	hasty := stockMounts(t, c, client.Options{RetryLimit: -1}, 1)[0]
	write(t, patient, "f", "text")
	const strip = 50_000
	how := client.Striping{Dist: proto.Dist{Name: proto.DistStripe, StripSize: strip}, Datafiles: 2}
	open := func(f *client.FS) *client.File {
		file, err := f.OpenStriped(ctx, "/striped", os.O_RDWR|os.O_CREATE, 0o644, how)
		require.NoError(t, err)
		t.Cleanup(func() { _ = file.Close() })
		return file
	}
	files := []*client.File{open(patient), open(hasty)}
	data := pattern(rand.New(rand.NewPCG(5, 5)), 2*strip)
	_, err := files[0].WriteAt(data, 0)
	require.NoError(t, err)
	require.NoError(t, files[0].Sync())
	_, err = files[1].ReadAt(make([]byte, 2*strip), 0) // it knows by then that the file is not stuffed
	require.NoError(t, err)
	for i := range c.Len() {
		c.Kill(i)
		failed, got := 0, make([]byte, strip)
		for j := range int64(2) {
			if _, err := files[1].ReadAt(got, j*strip); err != nil {
				failed++
				assert.True(t, errors.Is(err, rpc.ErrNotSent) || errors.Is(err, rpc.ErrNoAnswer), "%v", err)
			}
		}
		require.Equal(t, 1, failed, "one of the two servers has half of the file")
		done := make(chan error, 1)
		go func() {
			_, err := files[0].WriteAt(data, 0)
			done <- errors.Join(err, patient.Mkdir(ctx, fmt.Sprint("d", i), 0o755), patient.Chmod(ctx, "f", 0o600))
		}()
		c.Restart(i)
		require.NoError(t, <-done)
		for _, file := range files {
			all := make([]byte, 2*strip)
			_, err := file.ReadAt(all, 0)
			require.NoError(t, err)
			require.True(t, bytes.Equal(data, all))
		}
		text, err := fs.ReadFile(hasty, "f")
		require.NoError(t, err)
		require.Equal(t, "text", string(text))
	}
	names, err := patient.ReadNames(ctx, "/")
	require.NoError(t, err)
	require.Subset(t, names, []string{"f", "striped", "d0", "d1"})
}
