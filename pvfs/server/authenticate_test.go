package server_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/server"
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
	return append([]byte("C:"+host+"\n"), public...)
}

// authenticating starts a file system with a keystore, and returns the key of one client and the servers' log.
func authenticating(t testing.TB, servers int) (*pvfstest.Cluster, *credential.Key, *logged) {
	t.Helper()
	key, log := newKey(t), &logged{}
	ks, err := credential.ParseKeystore(clientKeys(t, "host", key))
	require.NoError(t, err)
	return pvfstest.Start(t, pvfstest.Options{Servers: servers, Server: func(_ int, cfg *server.Config) {
		cfg.Keystore, cfg.Log = ks, slog.New(slog.NewTextHandler(log, nil))
	}}), key, log
}

// logged is what was logged.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// from makes requests of a user come from a client.
func from(t testing.TB, c *pvfstest.Cluster, u *user) *user {
	t.Helper()
	addr, err := c.Endpoint().Lookup(c.Address(0))
	require.NoError(t, err)
	u.peer = addr
	return u
}

// TestStrangersAreRefused: no request with a credential is carried out for a client without a key in the keystore, whatever user it names.
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
