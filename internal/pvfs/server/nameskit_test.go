package server_test

import (
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// user is a client for one user that sends requests one by one, like a stock client. Requests and answers are encoded and
// decoded, but go to the server without a network.
type user struct {
	t    testing.TB
	c    *pvfstest.Cluster
	cred proto.Credential
	peer bmi.Addr // source of the requests; zero: this process
	turn int      // the next server for a new object
}

func newUser(t testing.TB, c *pvfstest.Cluster, uid uint32, groups ...uint32) *user {
	return &user{t: t, c: c, cred: proto.Credential{User: uid, Groups: groups, Issuer: "C:test", Timeout: farTime}}
}

// root is a client of root.
func root(t testing.TB, c *pvfstest.Cluster) *user { return newUser(t, c, 0, 0) }

// do sends a request to a server.
func (u *user) do(server int, h *proto.Header, req proto.Request) (proto.Response, error) {
	if h == nil {
		h = &proto.Header{}
	}
	header, parsed, err := proto.ParseRequest(proto.AppendRequest(nil, h, req))
	require.NoError(u.t, err)
	resp, err := u.c.Server(server).Do(u.t.Context(), u.peer, header, parsed)
	if err != nil {
		return nil, proto.StatusOf(err)
	}
	into := proto.NewResponse(req.Op())
	require.NoError(u.t, proto.ParseResponse(proto.AppendResponse(nil, resp), into))
	return into, nil
}

// to sends a request to the server of a handle.
func (u *user) to(h proto.Handle, header *proto.Header, req proto.Request) (proto.Response, error) {
	u.t.Helper()
	i, ok := u.c.FS.Owner(h)
	require.True(u.t, ok, "handle %d", h)
	return u.do(i, header, req)
}

func (u *user) fs() proto.FSID { return u.c.FS.ID }

// attr requests the attributes of an object.
func (u *user) attr(h proto.Handle, mask proto.AttrMask) (proto.Attr, error) {
	resp, err := u.to(h, nil, &proto.GetAttrReq{Handle: h, FS: u.fs(), Mask: mask, Cred: u.cred})
	if err != nil {
		return proto.Attr{}, err
	}
	return resp.(*proto.GetAttrResp).Attr, nil
}

// header has the capability of an object, and names the object.
func (u *user) header(h proto.Handle) *proto.Header {
	u.t.Helper()
	a, err := u.attr(h, proto.AttrMetafile)
	require.NoError(u.t, err)
	return &proto.Header{Capability: a.Capability, Hints: proto.Hints{{Type: proto.HintHandle, Value: uint64(h)}}}
}

// dirdata is the dirdata object for a name, as a client finds it.
func dirdata(d proto.DistDir, name string) proto.Handle {
	sum := md5.Sum([]byte(name))
	hash := binary.LittleEndian.Uint64(sum[8:])
	for level := d.TreeHeight; level >= 0; level-- {
		i := hash & (1<<level - 1)
		if d.Bitmap[i/32]>>(i%32)&1 != 0 {
			return d.Dirdata[i]
		}
	}
	return 0
}

// entry runs an operation on a name in a directory, again if the directory was divided.
func (u *user) entry(dir proto.Handle, name string, do func(dirdata proto.Handle, h *proto.Header) error) error {
	for range 5000 {
		a, err := u.attr(dir, proto.AttrMetafile)
		if err != nil {
			return err
		}
		h := &proto.Header{Capability: a.Capability, Hints: proto.Hints{{Type: proto.HintHandle, Value: uint64(dir)}}}
		if err = do(dirdata(a.DistDir, name), h); err != proto.EAGAIN {
			return err
		}
		time.Sleep(time.Millisecond) // like a client; nothing depends on it
	}
	return proto.EAGAIN
}

// link adds a name.
func (u *user) link(dir proto.Handle, name string, to proto.Handle) error {
	return u.entry(dir, name, func(d proto.Handle, h *proto.Header) error {
		_, err := u.to(d, h, &proto.CrDirentReq{Cred: u.cred, Name: name, New: to, Dir: dir, Dirdata: d, FS: u.fs()})
		return err
	})
}

// unlink removes a name.
func (u *user) unlink(dir proto.Handle, name string) (proto.Handle, error) {
	var was proto.Handle
	err := u.entry(dir, name, func(d proto.Handle, h *proto.Header) error {
		resp, err := u.to(d, h, &proto.RmDirentReq{Name: name, Dirdata: d, FS: u.fs()})
		if err == nil {
			was = resp.(*proto.RmDirentResp).Handle
		}
		return err
	})
	return was, err
}

// next is the server for a new object.
func (u *user) next() int {
	u.turn++
	return u.turn % u.c.Len()
}

// named gives a new object its name. If that fails, it removes the object.
func (u *user) named(dir proto.Handle, name string, h proto.Handle, err error) (proto.Handle, error) {
	if err != nil {
		return 0, err
	}
	if err := u.link(dir, name, h); err != nil {
		_, wrong := u.to(h, u.header(dir), &proto.RemoveReq{Handle: h, FS: u.fs(), Cred: u.cred})
		require.NoError(u.t, wrong)
		return 0, err
	}
	return h, nil
}

func (u *user) mkdir(dir proto.Handle, name string, perms uint32) (proto.Handle, error) {
	resp, err := u.do(u.next(), u.header(dir), &proto.MkdirReq{
		FS: u.fs(), Cred: u.cred, Attr: proto.Attr{Perms: perms, Mask: proto.AttrMkdir, Type: proto.TypeDirectory},
	})
	var h proto.Handle
	if err == nil {
		h = resp.(*proto.MkdirResp).Handle
	}
	return u.named(dir, name, h, err)
}

func (u *user) create(dir proto.Handle, name string, perms uint32) (proto.Handle, error) {
	resp, err := u.do(u.next(), u.header(dir), &proto.CreateReq{
		FS: u.fs(), Cred: u.cred, Attr: proto.Attr{
			Perms: perms, Mask: proto.AttrCreate, Type: proto.TypeMetafile,
			Dist: proto.Dist{Name: proto.DistStripe, StripSize: proto.StripSize64},
		},
		Datafiles: int32(u.c.Len()), Layout: proto.Layout{Algorithm: proto.LayoutRoundRobin},
	})
	var h proto.Handle
	if err == nil {
		h = resp.(*proto.CreateResp).Handle
	}
	return u.named(dir, name, h, err)
}

func (u *user) symlink(dir proto.Handle, name, target string) (proto.Handle, error) {
	resp, err := u.do(u.next(), u.header(dir), &proto.BatchCreateReq{FS: u.fs(), Type: proto.TypeSymlink, Count: 1})
	if err != nil {
		return 0, err
	}
	h := resp.(*proto.BatchCreateResp).Handles[0]
	_, err = u.to(h, u.header2(h), &proto.SetAttrReq{
		Handle: h, FS: u.fs(), Cred: u.cred,
		Attr: proto.Attr{
			Owner: u.cred.User, Group: u.cred.Groups[0], Perms: 0o777, Type: proto.TypeSymlink,
			Mask: proto.AttrCommon | proto.AttrTarget, Target: target,
		},
	})
	require.NoError(u.t, err)
	return u.named(dir, name, h, nil)
}

// header2 is header, without a request for the target of a symlink that has none yet.
func (u *user) header2(h proto.Handle) *proto.Header {
	a, err := u.attr(h, proto.AttrCommon|proto.AttrCapability)
	require.NoError(u.t, err)
	return &proto.Header{Capability: a.Capability}
}

// remove removes a file, a symlink or an empty directory.
func (u *user) remove(dir proto.Handle, name string) error {
	h, err := u.unlink(dir, name)
	if err != nil {
		return err
	}
	_, err = u.to(h, u.header(dir), &proto.RemoveReq{Handle: h, FS: u.fs(), Cred: u.cred})
	if err == proto.ENOTEMPTY {
		require.NoError(u.t, u.link(dir, name, h))
	}
	return err
}

// lookup resolves a path from a directory, over several servers.
func (u *user) lookup(from proto.Handle, path string) (proto.Handle, error) {
	for {
		resp, err := u.to(from, u.header(from), &proto.LookupPathReq{Path: path, FS: u.fs(), Start: from, Mask: proto.AttrCommon, Cred: u.cred})
		if err != nil {
			return 0, err
		}
		r := resp.(*proto.LookupPathResp)
		require.NotEmpty(u.t, r.Handles)
		for _, h := range r.Handles {
			from = h
			_, rest, more := cut(path)
			if !more {
				require.Equal(u.t, r.Handles[len(r.Handles)-1], h)
				return h, nil
			}
			path = rest
		}
		if n := len(r.Attrs); n == len(r.Handles) && r.Attrs[n-1].Type != proto.TypeDirectory {
			return 0, proto.ENOTDIR
		}
	}
}

func cut(path string) (first, rest string, more bool) {
	for i := range len(path) {
		if path[i] == '/' {
			return path[:i], path[i+1:], true
		}
	}
	return path, "", false
}

// list reads a directory, count entries at a time, sorted by name.
func (u *user) list(dir proto.Handle, count uint32) ([]proto.DirEntry, error) {
	h := u.header(dir)
	a, err := u.attr(dir, proto.AttrMetafile)
	if err != nil {
		return nil, err
	}
	var all []proto.DirEntry
	for i, d := range a.DistDir.Dirdata {
		if a.DistDir.Bitmap[i/32]>>(i%32)&1 == 0 {
			continue
		}
		for token := uint64(proto.TokenStart); token != proto.TokenEnd; {
			resp, err := u.to(d, h, &proto.ReadDirReq{Dirdata: d, FS: u.fs(), Count: count, Token: token})
			if err != nil {
				return nil, err
			}
			r := resp.(*proto.ReadDirResp)
			require.Less(u.t, r.Token, uint64(1)<<48)
			all = append(all, r.Entries...)
			if token = r.Token; len(r.Entries) == 0 {
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b proto.DirEntry) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}
