package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// opened is a header with a capability for an open object.
func (u *user) opened(h proto.Handle) *proto.Header {
	u.t.Helper()
	header := &proto.Header{Hints: proto.Hints{{Type: proto.HintHandle, Value: uint64(h)}}}
	ask := &proto.Header{Hints: append(proto.Hints{proto.OpensHint()}, header.Hints...)}
	resp, err := u.to(h, ask, &proto.GetAttrReq{Handle: h, FS: u.fs(), Mask: proto.AttrMetafile, Cred: u.cred})
	require.NoError(u.t, err)
	header.Capability = resp.(*proto.GetAttrResp).Attr.Capability
	return header
}

// set sends a SETATTR.
func (u *user) set(h proto.Handle, header *proto.Header, a proto.Attr) error {
	_, err := u.to(h, header, &proto.SetAttrReq{Handle: h, FS: u.fs(), Cred: u.cred, Attr: a})
	return err
}

// TestAnOpenFileGivesNoMoreThanADescriptor: who has opened a file before root took it may read and write it as before, and nothing
// else. Who has opened a directory may do nothing in it any more.
func TestAnOpenFileGivesNoMoreThanADescriptor(t *testing.T) {
	for _, servers := range []int{1, 3} {
		c := pvfstest.Start(t, pvfstest.Options{Servers: servers})
		r := root(t, c)
		s := newUser(t, c, stranger, stranger)
		home, err := r.mkdir(c.FS.Root, "home", 0o777)
		require.NoError(t, err)
		file, err := s.create(home, "file", 0o600)
		require.NoError(t, err)
		dir, err := s.mkdir(home, "dir", 0o700)
		require.NoError(t, err)
		_, err = s.create(dir, "entry", 0o600)
		require.NoError(t, err)
		openFile, openDir := s.opened(file), s.opened(dir)

		take := proto.Attr{Mask: proto.AttrUID | proto.AttrGID, Owner: 0, Group: 0}
		require.NoError(t, r.set(file, r.header(file), take))
		require.NoError(t, r.set(dir, r.header(dir), take))

		for _, mask := range []proto.AttrMask{proto.AttrPerm, proto.AttrUID, proto.AttrGID, proto.AttrATimeSet} {
			a := proto.Attr{Mask: mask, Perms: 0o777, Owner: stranger, Group: stranger}
			require.Equal(t, proto.EACCES, s.set(file, openFile, a), "attribute %b of the file", mask)
			require.Error(t, s.set(dir, openDir, a), "attribute %b of the directory", mask)
		}
		_, err = s.to(file, openFile, &proto.SetEattrReq{Handle: file, FS: s.fs(), Keys: []string{"user.x"}, Values: [][]byte{{1}}})
		require.Equal(t, proto.EACCES, err)
		require.NoError(t, s.set(file, openFile, proto.Attr{Mask: proto.AttrMTime}), "as after a write")

		d, err := r.attr(dir, proto.AttrMetafile)
		require.NoError(t, err)
		part := dirdata(d.DistDir, "entry")
		for _, req := range []proto.Request{
			&proto.ReadDirReq{Dirdata: part, FS: s.fs(), Count: 10, Token: proto.TokenStart},
			&proto.RmDirentReq{Name: "entry", Dirdata: part, FS: s.fs()},
			&proto.CrDirentReq{Cred: s.cred, Name: "other", New: file, Dir: dir, Dirdata: part, FS: s.fs()},
		} {
			_, err := s.to(part, openDir, req)
			require.Equal(t, proto.EAGAIN, err, "%v: void, and another capability has no right", req.Op())
		}
		_, err = s.to(dir, openDir, &proto.LookupPathReq{Path: "entry", FS: s.fs(), Start: dir, Mask: proto.AttrCommon, Cred: s.cred})
		require.Equal(t, proto.EAGAIN, err)
	}
}
