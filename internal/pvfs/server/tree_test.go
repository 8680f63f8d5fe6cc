package server_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func TestTreeGetFileSize(t *testing.T) {
	for n := 1; n <= 5; n++ {
		t.Run(fmt.Sprint(n, " servers"), func(t *testing.T) {
			k := newKit(t, pvfstest.Options{Servers: n})
			f := k.create(0, n, proto.Dist{Name: proto.DistStripe, StripSize: 10})
			f.write(0, pattern(10*n-3, 1))
			for server := range n {
				handles := slices.Clone(f.attr.Datafiles)
				handles = append(handles, f.handle, 5, math.MaxUint64)
				var got proto.TreeGetFileSizeResp
				require.NoError(t, k.ask(server, nil, &proto.TreeGetFileSizeReq{FS: k.c.FS.ID, Caller: 7, Cred: k.cred, Handles: handles}, &got))
				require.Equal(t, uint32(7), got.Caller)
				for i := range n {
					require.Equal(t, f.layout.Cut(int64(10*n-3), i, n), got.Sizes[i])
					require.Equal(t, proto.OK, got.Errors[i])
				}
				require.Equal(t, []proto.Status{proto.EINVAL, proto.ENOENT, proto.ENOENT}, got.Errors[n:])
			}
		})
	}
}

func TestTreeGetAttrSetAttr(t *testing.T) {
	k := newKit(t, pvfstest.Options{Servers: 3})
	var files []*file
	var handles []proto.Handle
	for i := range 6 {
		f := k.create(i%3, 1, stripe.Default(proto.DistStripe))
		files, handles = append(files, f), append(handles, f.handle)
	}
	all := proto.Header{Capability: files[0].header.Capability, Hints: files[0].header.Hints}
	var set proto.TreeSetAttrResp
	require.NoError(t, k.ask(1, &all, &proto.TreeSetAttrReq{
		FS: k.c.FS.ID, Cred: k.cred, Type: proto.TypeMetafile, Handles: handles, Caller: 2,
		Attr: proto.Attr{Mask: proto.AttrPerm, Perms: 0o600, Type: proto.TypeMetafile},
	}, &set))
	require.Equal(t, uint32(2), set.Caller)
	require.Equal(t, proto.OK, set.Status[0])
	require.Equal(t, slices.Repeat([]proto.Status{proto.EACCES}, 5), set.Status[1:], "the capability is for the first")

	var got proto.TreeGetAttrResp
	require.NoError(t, k.ask(2, nil, &proto.TreeGetAttrReq{FS: k.c.FS.ID, Cred: k.cred, Mask: proto.AttrCommon, Handles: append(handles, 77)}, &got))
	require.Equal(t, append(slices.Repeat([]proto.Status{proto.OK}, 6), proto.ENOENT), got.Errors)
	for i := range files {
		want := uint32(0o644)
		if i == 0 {
			want = 0o600
		}
		require.Equal(t, want, got.Attrs[i].Perms, i)
	}
}

func TestTreeRemove(t *testing.T) {
	k := newKit(t, pvfstest.Options{Servers: 4})
	f := k.create(2, 4, stripe.Default(proto.DistStripe))
	f.write(0, make([]byte, 4*65536))
	remove := &proto.TreeRemoveReq{FS: k.c.FS.ID, Cred: k.cred, Handles: append([]proto.Handle{12345}, f.attr.Datafiles...)}
	var refused proto.TreeRemoveResp
	require.NoError(t, k.ask(0, nil, remove, &refused))
	require.Equal(t, slices.Repeat([]proto.Status{proto.EACCES}, 4), refused.Status[1:])
	var got proto.TreeRemoveResp
	require.NoError(t, k.ask(0, &k.root, remove, &got))
	require.Equal(t, append([]proto.Status{proto.ENOENT}, slices.Repeat([]proto.Status{proto.OK}, 4)...), got.Status)
	require.NoError(t, k.ask(0, &k.root, remove, &got))
	require.Equal(t, slices.Repeat([]proto.Status{proto.ENOENT}, 5), got.Status)
}

// TestTreeWithServerDown sends a request for objects of several servers, one of which is stopped. The objects of the others are
// answered.
func TestTreeWithServerDown(t *testing.T) {
	k := newKit(t, pvfstest.Options{Servers: 5})
	f := k.create(0, 5, proto.Dist{Name: proto.DistStripe, StripSize: 10})
	f.write(0, make([]byte, 50))
	k.c.Stop(3)
	for _, server := range []int{0, 4} {
		var got proto.TreeGetFileSizeResp
		require.NoError(t, k.ask(server, nil, &proto.TreeGetFileSizeReq{FS: k.c.FS.ID, Cred: k.cred, Handles: f.attr.Datafiles}, &got))
		for i := range f.attr.Datafiles {
			if f.datafileServer(i) == 3 {
				require.NotEqual(t, proto.OK, got.Errors[i])
				continue
			}
			require.Equal(t, proto.OK, got.Errors[i], "server %d asked about datafile %d", server, i)
			require.Equal(t, int64(10), got.Sizes[i])
		}
	}
	k.c.Start(3)
	var got proto.TreeGetFileSizeResp
	require.NoError(t, k.ask(0, nil, &proto.TreeGetFileSizeReq{FS: k.c.FS.ID, Cred: k.cred, Handles: f.attr.Datafiles}, &got))
	require.Equal(t, make([]proto.Status, 5), got.Errors)
	require.True(t, bytes.Equal(make([]byte, 50), f.read(0, 100)))
}
