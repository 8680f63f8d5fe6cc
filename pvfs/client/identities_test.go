package client_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/authority"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
)

// TestIdentitiesOfCertificates: a client over tcps acts only for the users that the server's identities list for the name in its
// certificate.
func TestIdentitiesOfCertificates(t *testing.T) {
	ca := authority.New(t)
	t.Setenv("VIADUCT_TLS_CA", ca.File)
	as := func(name string) {
		cert, key := ca.Issue(name, nil)
		t.Setenv("VIADUCT_TLS_CERT", cert)
		t.Setenv("VIADUCT_TLS_KEY", key)
	}
	ids, err := credential.ParseIdentities([]byte("server0 any\nserver1 any\nlogin users\nalice 1000:1000,27"))
	require.NoError(t, err)
	as("server0")
	c := pvfstest.Start(t, pvfstest.Options{Method: pvfstest.TCPS, Servers: 2, Server: func(_ int, cfg *server.Config) { cfg.Identities = ids }})
	use := func(name string, uid uint32, groups ...uint32) error {
		as(name)
		ep, err := bmi.Open(ctx, bmi.Config{})
		require.NoError(t, err)
		defer func() { require.NoError(t, ep.Close()) }()
		f, err := client.Mount(ctx, c.Source(), client.Options{Endpoint: ep, User: &client.Identity{UID: uid, Groups: groups}, Seed: 1})
		require.NoError(t, err)
		defer func() { require.NoError(t, f.Close()) }()
		if err := f.Mkdir(ctx, "d", 0o755); err != nil {
			return err
		}
		return f.Remove(ctx, "d")
	}
	require.NoError(t, use("server1", 0, 0))
	require.NoError(t, use("login", 31337, 31337))
	require.NoError(t, use("alice", 1000, 1000, 27))
	for _, refused := range []struct {
		name   string
		uid    uint32
		groups []uint32
	}{
		{"login", 0, []uint32{0}},
		{"login", 31337, []uint32{31337, 0}},
		{"alice", 0, []uint32{0}},
		{"alice", 1001, []uint32{1000}},
		{"alice", 1000, []uint32{1000, 28}},
		{"stranger", 31337, []uint32{31337}},
		{"", 0, []uint32{0}},
		{"*", 31337, []uint32{31337}},
	} {
		err := use(refused.name, refused.uid, refused.groups...)
		require.ErrorIs(t, err, fs.ErrPermission, "%+v", refused)
		require.ErrorIs(t, err, client.ErrAuthentication)
	}
}
