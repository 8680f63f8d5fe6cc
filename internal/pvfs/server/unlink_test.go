package server_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// send is do for an answer that may have a mark.
func (u *user) send(h proto.Handle, header *proto.Header, req proto.Request, into proto.Response) error {
	u.t.Helper()
	i, ok := u.c.FS.Owner(h)
	require.True(u.t, ok)
	parsed, body, err := proto.ParseRequest(proto.AppendRequest(nil, header, req))
	require.NoError(u.t, err)
	resp, err := u.c.Server(i).Do(u.t.Context(), bmi.Addr{}, parsed, body)
	if err != nil {
		return proto.StatusOf(err)
	}
	return proto.ParseResponse(proto.AppendResponse(nil, resp), into)
}

// unlinkWith removes a name with a hint to remove the object meant.
func (u *user) unlinkWith(dir proto.Handle, name string, meant proto.Handle) (resp proto.MarkedRmDirentResp, err error) {
	err = u.entry(dir, name, func(d proto.Handle, h *proto.Header) error {
		h.Hints = append(h.Hints, proto.RemovesHint(meant))
		return u.send(d, h, &proto.RmDirentReq{Name: name, Dirdata: d, FS: u.fs()}, &resp)
	})
	return resp, err
}

// gone reports whether an object does not exist.
func (u *user) gone(h proto.Handle) bool {
	_, err := u.attr(h, proto.AttrCommon)
	return err == proto.ENOENT
}

// TestUnlinkWithObject: with the hint, a file or symlink is removed with its name. This is done at once if one server has both,
// and soon if the server of the name knows the other server. The answer says what the client still has to do.
func TestUnlinkWithObject(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 3})
	u := root(t, c)
	dir, err := u.mkdir(c.FS.Root, "d", 0o777)
	require.NoError(t, err)
	a, err := u.attr(dir, proto.AttrMetafile)
	require.NoError(t, err)
	here, left := 0, 0
	for i := range 8 * c.Len() {
		name := fmt.Sprint("f", i)
		var h proto.Handle
		if i%2 == 0 {
			h, err = u.create(dir, name, 0o600)
		} else {
			h, err = u.symlink(dir, name, "target")
		}
		require.NoError(t, err)
		of, err := u.attr(h, proto.AttrStat)
		require.NoError(t, err)
		mine, _ := c.FS.Owner(dirdata(a.DistDir, name))
		owner, _ := c.FS.Owner(h)
		got, err := u.unlinkWith(dir, name, h)
		require.NoError(t, err)
		assert.Equal(t, h, got.Handle)
		switch {
		case owner == mine:
			here++
			assert.Equal(t, proto.MarkRemoved, got.Mark)
			assert.True(t, u.gone(h))
		case got.Mark == proto.MarkRemoved:
			left++
			assert.Eventually(t, func() bool { return u.gone(h) }, farOff, time.Millisecond)
		default:
			assert.Equal(t, proto.MarkKept, got.Mark)
			assert.False(t, u.gone(h))
			header := u.header(dir)
			header.Hints = append(header.Hints, proto.RemovesHint(h))
			var removed proto.MarkedRemoveResp
			require.NoError(t, u.send(h, header, &proto.RemoveReq{Handle: h, FS: u.fs(), Cred: u.cred}, &removed))
			assert.Equal(t, proto.MarkRemoved, removed.Mark)
			assert.True(t, u.gone(h))
		}
		for _, d := range of.Datafiles {
			assert.Eventually(t, func() bool { return u.gone(d) }, wallclock.Patience, time.Millisecond, "datafile of %s", name)
		}
		_, err = u.unlinkWith(dir, name, h)
		assert.Equal(t, proto.ENOENT, err)
	}
	assert.NotZero(t, here)
	assert.NotZero(t, left)
}

// TestUnlinkKeeps: objects that the hint does not name, that are not files, or that belong to another directory stay when the
// name is removed.
func TestUnlinkKeeps(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	admin, bob := root(t, c), newUser(t, c, 6, 6)
	his, err := admin.mkdir(c.FS.Root, "his", 0o777)
	require.NoError(t, err)
	f, err := bob.create(his, "f", 0o600)
	require.NoError(t, err)
	other, err := bob.create(his, "other", 0o600)
	require.NoError(t, err)
	d, err := bob.mkdir(his, "d", 0o700)
	require.NoError(t, err)
	keeps := func(u *user, name string, meant, object proto.Handle) {
		t.Helper()
		got, err := u.unlinkWith(his, name, meant)
		require.NoError(t, err)
		assert.Equal(t, proto.MarkedRmDirentResp{Handle: object, Mark: proto.MarkKept}, got)
		assert.False(t, admin.gone(object))
	}
	keeps(bob, "f", other, f)
	keeps(bob, "d", d, d)

	// A name for a file of another directory gives no right to remove the file.
	theirs, err := admin.mkdir(c.FS.Root, "theirs", 0o700)
	require.NoError(t, err)
	victim, err := admin.create(theirs, "victim", 0o600)
	require.NoError(t, err)
	require.NoError(t, admin.link(his, "victim", victim))
	_, err = admin.unlink(his, "victim")
	require.NoError(t, err)
	require.NoError(t, admin.link(theirs, "again", victim))
	require.NoError(t, admin.link(his, "victim", other))
	h := bob.header(his)
	h.Hints = append(h.Hints, proto.RemovesHint(victim))
	a, err := bob.attr(his, proto.AttrMetafile)
	require.NoError(t, err)
	var got proto.MarkedRmDirentResp
	require.NoError(t, bob.send(a.DistDir.Dirdata[0], h, &proto.RmDirentReq{Name: "victim", Dirdata: a.DistDir.Dirdata[0], FS: bob.fs()}, &got))
	assert.Equal(t, proto.MarkedRmDirentResp{Handle: other, Mark: proto.MarkKept}, got)
	assert.False(t, admin.gone(victim))

	// The hint names another directory than that of the entries.
	require.NoError(t, bob.link(his, "f", f))
	h = bob.header(his)
	h.Hints = proto.Hints{{Type: proto.HintHandle, Value: uint64(theirs)}, proto.RemovesHint(f)}
	require.NoError(t, bob.send(a.DistDir.Dirdata[0], h, &proto.RmDirentReq{Name: "f", Dirdata: a.DistDir.Dirdata[0], FS: bob.fs()}, &got))
	assert.Equal(t, proto.MarkedRmDirentResp{Handle: f, Mark: proto.MarkKept}, got)
	assert.False(t, admin.gone(f))

	// No mark in the answer to a client without the hint, and no removal for a user without the right to write.
	require.NoError(t, bob.link(his, "f", f))
	alice := newUser(t, c, 7, 7)
	_, err = admin.to(his, admin.header(his), &proto.SetAttrReq{
		Handle: his, FS: admin.fs(), Cred: admin.cred, Attr: proto.Attr{Type: proto.TypeDirectory, Mask: proto.AttrPerm, Perms: 0o755},
	})
	require.NoError(t, err)
	_, err = alice.unlinkWith(his, "f", f)
	assert.Equal(t, proto.EACCES, err)
	was, err := admin.unlink(his, "f")
	require.NoError(t, err)
	assert.Equal(t, f, was)
	assert.False(t, admin.gone(f))
}
