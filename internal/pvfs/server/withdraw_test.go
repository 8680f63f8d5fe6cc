package server_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/stripe"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// as returns the client for another user.
func (k *kit) as(uid uint32) *kit {
	other := *k
	other.cred.User, other.cred.Groups = uid, []uint32{uid}
	return &other
}

// chmod changes the mode of an object, with header or, if that is nil, with a new capability.
func (k *kit) chmod(h proto.Handle, header *proto.Header, perms uint32) proto.Status {
	if header == nil {
		fresh := k.header(h)
		header = &fresh
	}
	return k.status(k.owner(h), header, &proto.SetAttrReq{
		Handle: h, FS: k.c.FS.ID, Cred: k.cred, Attr: proto.Attr{Mask: proto.AttrPerm, Perms: perms},
	})
}

// reads sends the requests that read a file, one for each datafile, and returns their statuses.
func (f *file) reads(h *proto.Header) (all []proto.Status) {
	u := root(f.k.t, f.k.c) // without connections, which end when a server stops
	for i := range f.attr.Datafiles {
		_, err := u.do(f.datafileServer(i), h, f.smallReq(i, f.op(0, 100), nil))
		all = append(all, proto.StatusOf(err))
	}
	return all
}

// everywhere is one status for each of n servers.
func everywhere(n int, s proto.Status) (all []proto.Status) {
	for range n {
		all = append(all, s)
	}
	return all
}

// TestWithdrawnRights: after a user lost a right, an earlier capability does not give it either, on no server and also after a
// restart. The owner's capability stays valid.
func TestWithdrawnRights(t *testing.T) {
	for _, servers := range []int{1, 3} {
		for how, change := range map[string]func(k *kit, h proto.Handle) proto.Status{
			"mode": func(k *kit, h proto.Handle) proto.Status { return k.as(5).chmod(h, nil, 0o600) },
			"tree": func(k *kit, h proto.Handle) proto.Status {
				header := k.as(5).header(h)
				return k.status((k.owner(h)+1)%k.c.Len(), &header, &proto.TreeSetAttrReq{FS: k.c.FS.ID, Cred: k.as(5).cred, Handles: []proto.Handle{h},
					Attr: proto.Attr{Mask: proto.AttrPerm, Perms: 0o600}})
			},
			"owner": func(k *kit, h proto.Handle) proto.Status {
				header := k.header(h)
				return k.status(k.owner(h), &header, &proto.SetAttrReq{Handle: h, FS: k.c.FS.ID, Cred: k.cred,
					Attr: proto.Attr{Mask: proto.AttrGID | proto.AttrPerm, Group: 6, Perms: 0o640}})
			},
			"list": func(k *kit, h proto.Handle) proto.Status {
				header := k.as(5).header(h)
				acl := []byte{2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 4, 0, 0, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255}
				return k.status(k.owner(h), &header, &proto.SetEattrReq{Handle: h, FS: k.c.FS.ID,
					Keys: []string{"system.posix_acl_access"}, Values: [][]byte{acl}})
			},
		} {
			t.Run(how, func(t *testing.T) {
				c := pvfstest.Start(t, pvfstest.Options{Servers: servers,
					Config: func(g *config.GenOptions) { g.NoStuffing = true }})
				k := newClient(t, c)
				f := k.create(0, servers, stripe.Default(proto.DistStripe))
				require.Equal(t, proto.OK, k.status(0, &f.header, &proto.SetAttrReq{Handle: f.handle, FS: c.FS.ID, Cred: k.cred,
					Attr: proto.Attr{Mask: proto.AttrUID | proto.AttrGID, Owner: 5, Group: 5}}))
				f.write(0, pattern(1000, 1))
				theirs, owners := k.as(stranger).header(f.handle), k.as(5).header(f.handle)
				require.Equal(t, everywhere(servers, proto.OK), f.reads(&theirs))

				require.Equal(t, proto.OK, change(k, f.handle))
				refused := everywhere(servers, proto.EAGAIN)
				require.Equal(t, refused, f.reads(&theirs))
				require.Equal(t, everywhere(servers, proto.OK), f.reads(&owners))
				fresh := k.as(stranger).header(f.handle)
				require.Equal(t, everywhere(servers, proto.EACCES), f.reads(&fresh))
				for i := range servers {
					c.Stop(i)
					c.Start(i)
				}
				require.Equal(t, refused, f.reads(&theirs))
				require.Equal(t, everywhere(servers, proto.OK), f.reads(&owners))

				k = newClient(t, c) // the other client's connections have ended
				require.Equal(t, proto.OK, k.as(5).chmod(f.handle, nil, 0o666))
				if how != "list" {
					again := k.as(stranger).header(f.handle)
					require.Equal(t, everywhere(servers, proto.OK), f.reads(&again))
				}
			})
		}
	}
}

// TestWidenedRights: a user who gets more rights keeps the old ones.
func TestWidenedRights(t *testing.T) {
	k := newKit(t, pvfstest.Options{Servers: 2})
	f := k.create(0, 2, stripe.Default(proto.DistStripe))
	theirs := k.as(stranger).header(f.handle)
	require.Equal(t, proto.OK, k.chmod(f.handle, nil, 0o666))
	require.Equal(t, everywhere(2, proto.OK), f.reads(&theirs))
}

// TestWithdrawalsOfStrangers: only a server can withdraw rights with the hint of servers.
func TestWithdrawalsOfStrangers(t *testing.T) {
	k := newKit(t, pvfstest.Options{Servers: 2})
	f := k.create(0, 2, stripe.Default(proto.DistStripe))
	theirs := k.as(stranger).header(f.handle)
	forged := k.header(f.handle)
	forged.Hints = append(forged.Hints, proto.Withdrawal{Object: f.handle, At: time.Now().Add(time.Hour).UnixNano()}.Hint())
	for _, h := range append([]proto.Handle{f.handle}, f.attr.Datafiles...) {
		_ = k.status(k.owner(h), &forged, &proto.SetAttrReq{Handle: h, FS: k.c.FS.ID, Cred: k.cred}) // the answer does not matter
	}
	require.Equal(t, everywhere(2, proto.OK), f.reads(&theirs))
}

// TestWithdrawnFromTheAway: a server that is down gets the withdrawal after its restart.
func TestWithdrawnFromTheAway(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 2})
	k := newClient(t, c)
	f := k.create(0, 2, stripe.Default(proto.DistStripe))
	theirs := k.as(stranger).header(f.handle)
	away := 1 - k.owner(f.handle)
	c.Stop(away)
	require.Equal(t, proto.OK, k.chmod(f.handle, nil, 0o600))
	c.Start(away)
	require.Eventually(t, func() bool {
		for _, s := range f.reads(&theirs) {
			if s != proto.EAGAIN {
				return false
			}
		}
		return true
	}, farOff, time.Millisecond)
}

// TestWithdrawalsEnd: withdrawals that no capability can match any more are dropped, in memory and in the store.
func TestWithdrawalsEnd(t *testing.T) {
	var ahead atomic.Int64 // the clock
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1, Server: func(_ int, cfg *server.Config) {
		cfg.Clock = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	}})
	s := c.Server(0)
	u := root(t, c)
	for _, name := range []string{"a", "b"} {
		h, err := u.create(c.FS.Root, name, 0o644)
		require.NoError(t, err)
		_, err = u.to(h, u.header2(h), &proto.SetAttrReq{Handle: h, FS: u.fs(), Cred: u.cred, Attr: proto.Attr{Mask: proto.AttrPerm, Perms: 0o600}})
		require.NoError(t, err)
	}
	require.Equal(t, 2, s.Withdrawals())
	require.NoError(t, u.remove(c.FS.Root, "a"))
	n, err := s.ForgetWithdrawals()
	require.NoError(t, err)
	require.Equal(t, 1, n, "the object is gone")
	ahead.Add(int64(c.FS.Security.CapabilityTimeout))
	n, err = s.ForgetWithdrawals()
	require.NoError(t, err)
	require.Zero(t, n, "the clocks of the servers may differ")
	ahead.Add(int64(c.FS.Security.CapabilityTimeout + time.Minute))
	n, err = s.ForgetWithdrawals()
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Zero(t, s.Withdrawals())
}
