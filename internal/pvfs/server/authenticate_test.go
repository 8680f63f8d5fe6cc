package server_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

func newKey(t testing.TB) *credential.Key {
	t.Helper()
	key, err := credential.GenerateKey(1024)
	require.NoError(t, err)
	return key
}

// clientKeys is a keystore with the key of one client.
func clientKeys(t testing.TB, host string, key *credential.Key) []byte {
	t.Helper()
	public, err := key.Public()
	require.NoError(t, err)
	return []byte(credential.Entry(host, public))
}

// authenticating starts a file system with a keystore, and returns the key of one client and the servers' log.
func authenticating(t testing.TB, servers int) (*pvfstest.Cluster, *credential.Key, *logtext.Buffer) {
	t.Helper()
	key, log := newKey(t), new(logtext.Buffer)
	ks, err := credential.ParseKeystore(clientKeys(t, "host", key))
	require.NoError(t, err)
	return pvfstest.Start(t, pvfstest.Options{Servers: servers, Server: func(_ int, cfg *server.Config) {
		cfg.Keystore, cfg.Log = ks, slog.New(slog.NewTextHandler(log, nil))
	}}), key, log
}

// from makes a user's requests come from a client's address.
func from(t testing.TB, c *pvfstest.Cluster, u *user) *user {
	t.Helper()
	addr, err := c.Endpoint().Lookup(c.Address(0))
	require.NoError(t, err)
	u.peer = addr
	return u
}

// TestStrangersAreRefused: a client without a key in the keystore cannot use a credential, for any user.
func TestStrangersAreRefused(t *testing.T) {
	c, key, log := authenticating(t, 2)
	signed := func(uid uint32, key *credential.Key, issuer string) *user {
		u := from(t, c, newUser(t, c, uid, uid))
		u.cred.Issuer = issuer
		if key != nil {
			require.NoError(t, key.Sign(&u.cred))
		}
		return u
	}
	admin := signed(0, key, "C:host")
	home, err := admin.mkdir(c.FS.Root, "home", 0o755)
	require.NoError(t, err)
	file, err := admin.create(home, "file", 0o644)
	require.NoError(t, err)

	somebody := signed(stranger, key, "C:host")
	_, err = somebody.attr(file, proto.AttrCommon)
	require.NoError(t, err)
	_, err = somebody.create(home, "theirs", 0o644)
	require.Equal(t, proto.EACCES, err, "an ordinary user gets no more rights")

	strange := newKey(t)
	stolen := signed(stranger, key, "C:host")
	stolen.cred.User, stolen.cred.Groups = 0, []uint32{0}
	longer := signed(0, key, "C:host")
	longer.cred.Timeout = longer.cred.Timeout.Add(time.Hour)
	refused := []*user{
		signed(0, nil, "C:host"), signed(0, strange, "C:host"), signed(0, key, "C:other"), signed(0, key, "S:server0"), stolen, longer,
		signed(stranger, nil, "C:host"),
	}
	for i, u := range refused {
		_, err := u.attr(file, proto.AttrCommon)
		require.Equal(t, proto.EPERM, err, "%d", i)
		h := admin.header(home) // as if it was stolen
		_, err = u.to(home, h, &proto.LookupPathReq{Path: "file", FS: u.fs(), Start: home, Mask: proto.AttrCommon, Cred: u.cred})
		require.Equal(t, proto.EPERM, err, "%d", i)
		_, err = u.to(home, h, &proto.MkdirReq{FS: u.fs(), Cred: u.cred, Attr: proto.Attr{Mask: proto.AttrMkdir, Type: proto.TypeDirectory}})
		require.Equal(t, proto.EPERM, err, "%d", i)
	}
	var count uint64
	for i := range c.Len() {
		count += c.Server(i).Stats().AuthenticationFailures
	}
	require.EqualValues(t, 3*len(refused), count)
	said := log.String()
	require.Contains(t, said, "authentication failed")
	require.LessOrEqual(t, strings.Count(said, "authentication failed"), 2*c.Len(), "failures do not fill the log")
	for _, u := range []*user{admin, somebody} {
		_, err = u.attr(file, proto.AttrCommon)
		require.NoError(t, err)
	}
}

// TestStrict: without a capability, a strict server returns no extended attributes or lists of attributes to a client, and
// flushes nothing for it.
func TestStrict(t *testing.T) {
	for _, strict := range []bool{false, true} {
		c := pvfstest.Start(t, pvfstest.Options{Servers: 1, Server: func(_ int, cfg *server.Config) { cfg.Strict = strict }})
		u := root(t, c)
		file, err := u.create(c.FS.Root, "file", 0o600)
		require.NoError(t, err)
		other, err := u.create(c.FS.Root, "other", 0o600)
		require.NoError(t, err)
		set := &proto.SetEattrReq{Handle: file, FS: u.fs(), Keys: []string{"user.secret"}, Values: [][]byte{[]byte("x")}}
		_, err = u.do(0, u.header(file), set)
		require.NoError(t, err)

		s := newUser(t, c, stranger, stranger)
		for _, req := range []proto.Request{
			&proto.GetEattrReq{Handle: file, FS: u.fs(), Keys: []string{"user.secret"}, Sizes: []int64{10}},
			&proto.ListEattrReq{Handle: file, FS: u.fs(), Token: uint64(proto.TokenStart), Sizes: []int64{100}},
			&proto.FlushReq{Handle: file, FS: u.fs()},
			&proto.ListAttrReq{FS: u.fs(), Mask: proto.AttrCommon, Handles: []proto.Handle{file}},
		} {
			_, err := s.do(0, nil, req)
			if !strict {
				require.NoError(t, err, "%v", req.Op())
				continue
			}
			require.Equal(t, proto.EACCES, err, "%v", req.Op())
			if req.Op() != proto.OpListAttr {
				_, err = s.do(0, u.header(other), req)
				require.Equal(t, proto.EACCES, err, "%v with a capability for something else", req.Op())
			}
			_, err = s.do(0, s.header(file), req)
			if req.Op() == proto.OpGetEattr {
				require.Equal(t, proto.EACCES, err, "a user who may not read the file")
			} else {
				require.NoError(t, err, "%v", req.Op())
			}
			_, err = u.do(0, u.header(file), req)
			require.NoError(t, err, "%v", req.Op())
		}
	}
}
