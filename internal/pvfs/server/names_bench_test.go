package server_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// BenchmarkNames measures the requests of a create, a stat and a removal, without a network and without waiting for the disk.
func BenchmarkNames(b *testing.B) {
	c := pvfstest.Start(b, pvfstest.Options{Servers: 1})
	u := root(b, c)
	d, err := u.mkdir(c.FS.Root, "d", 0o777)
	require.NoError(b, err)
	a, err := u.attr(d, proto.AttrMetafile)
	require.NoError(b, err)
	h, dd := u.header(d), a.DistDir.Dirdata[0]
	handles := make([]proto.Handle, 0, b.N)
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			resp, err := u.do(0, h, create(u, proto.DistStripe, proto.LayoutRoundRobin, 2))
			require.NoError(b, err)
			f := resp.(*proto.CreateResp).Handle
			_, err = u.do(0, h, &proto.CrDirentReq{Cred: u.cred, Name: fmt.Sprint("f", len(handles)), New: f, Dir: d, Dirdata: dd, FS: u.fs()})
			require.NoError(b, err)
			handles = append(handles, f)
		}
	})
	b.Run("stat", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			_, err := u.do(0, h, &proto.LookupPathReq{Path: fmt.Sprint("f", i%len(handles)), FS: u.fs(), Start: d, Mask: proto.AttrCommon, Cred: u.cred})
			require.NoError(b, err)
			_, err = u.attr(handles[i%len(handles)], proto.AttrStat)
			require.NoError(b, err)
		}
	})
	b.Run("list", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := u.do(0, h, &proto.ReadDirReq{Dirdata: dd, FS: u.fs(), Count: 512, Token: proto.TokenStart})
			require.NoError(b, err)
		}
	})
	b.Run("remove", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if len(handles) == 0 {
				b.Skip("none left")
			}
			i := len(handles) - 1
			_, err := u.do(0, h, &proto.RmDirentReq{Name: fmt.Sprint("f", i), Dirdata: dd, FS: u.fs()})
			require.NoError(b, err)
			_, err = u.do(0, h, &proto.RemoveReq{Handle: handles[i], FS: u.fs(), Cred: u.cred})
			require.NoError(b, err)
			handles = handles[:i]
		}
	})
}
