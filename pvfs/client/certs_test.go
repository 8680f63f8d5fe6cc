package client_test

import (
	"crypto/x509"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/certtest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/ldapusers/ldaptest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// certified starts servers that want certificates of users.
func certified(t *testing.T) (*pvfstest.Cluster, *certtest.CA) {
	t.Helper()
	ca := certtest.New(t, "CA")
	users := ldaptest.Start(t, ldaptest.User("alice", "wonderland", 1000, 100), ldaptest.User("bob", "builder", 1001, 101))
	c := pvfstest.Start(t, pvfstest.Options{Servers: 2, Config: func(g *config.GenOptions) {
		g.CAFile, g.ServerKey = ca.CertFile, ca.KeyFile
		g.LDAP = config.LDAP{Hosts: []string{users.URL()}, Root: "ou=Users,dc=example,dc=org"}
	}})
	return c, ca
}

// mountWith mounts for user 0 of this machine with a certificate.
func mountWith(t *testing.T, c *pvfstest.Cluster, cert func(client.Identity) (*usercert.Certificate, error)) *client.FS {
	t.Helper()
	f, err := client.Mount(ctx, c.Source(), client.Options{
		Endpoint: c.Endpoint(), User: &client.Identity{UID: 0, Groups: []uint32{0}}, Certificate: cert, Seed: 1, RetryLimit: -1,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

func always(cert *usercert.Certificate) func(client.Identity) (*usercert.Certificate, error) {
	return func(client.Identity) (*usercert.Certificate, error) { return cert, nil }
}

// TestCertificates: new objects of a client belong to the user of its certificate, whichever user it has on its own machine. Each
// user of a mount has its own certificate.
func TestCertificates(t *testing.T) {
	c, ca := certified(t)
	rootCert, err := usercert.New(ca.Cert.Raw, ca.Key)
	require.NoError(t, err)
	root := mountWith(t, c, always(rootCert))
	require.NoError(t, root.Mkdir(ctx, "home", 0o777))
	require.NoError(t, root.Chmod(ctx, "home", 0o777))

	certs := map[uint32]*usercert.Certificate{7: ca.User(t, "alice", nil), 8: ca.User(t, "bob", nil)}
	f := mountWith(t, c, func(id client.Identity) (*usercert.Certificate, error) {
		cert, ok := certs[id.UID]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return cert, nil
	})
	for uid, want := range map[uint32][2]uint32{7: {1000, 100}, 8: {1001, 101}} {
		u := f.As(client.Identity{UID: uid, Groups: []uint32{uid}})
		name := "home/" + certs[uid].Name()
		require.NoError(t, u.Mkdir(ctx, name, 0o700))
		write(t, u, name+"/file", "bytes")
		require.NoError(t, u.Chmod(ctx, name+"/file", 0o600))
		require.NoError(t, u.Symlink(ctx, "file", name+"/link"))
		for _, made := range []string{name, name + "/file", name + "/link"} {
			info, err := u.LstatCtx(ctx, made)
			require.NoError(t, err)
			require.Equal(t, want, [2]uint32{info.Attr.Owner, info.Attr.Group}, made)
		}
		b, err := fs.ReadFile(u, name+"/link")
		require.NoError(t, err)
		require.Equal(t, "bytes", string(b))
	}
	_, err = fs.ReadFile(f.As(client.Identity{UID: 7, Groups: []uint32{7}}), "home/bob/file")
	require.ErrorIs(t, err, fs.ErrPermission)
	_, err = fs.ReadFile(f, "home/bob/file") // user 0 of this machine, without a certificate
	require.ErrorIs(t, err, client.ErrAuthentication)
	require.ErrorContains(t, err, "pvfs get-user-cert")
	expired := mountWith(t, c, always(ca.User(t, "alice", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })))
	_, err = expired.ReadDir(".")
	require.ErrorIs(t, err, client.ErrAuthentication)
	require.ErrorContains(t, err, "do not accept the certificate")
}

// TestGetCertificate: a user gets a certificate for a password. The password is sent only to the right authority.
func TestGetCertificate(t *testing.T) {
	c, ca := certified(t)
	f := mountWith(t, c, nil)
	req := client.CertificateRequest{Name: "alice", Password: "wonderland", Authority: ca.Authority(t)}
	cert, key, err := f.GetCertificate(ctx, req)
	require.NoError(t, err)
	require.Equal(t, "alice", cert.Name())
	again, err := usercert.New(mustDER(t, cert), key)
	require.NoError(t, err)
	_, err = mountWith(t, c, always(again)).ReadDir(".")
	require.NoError(t, err)

	other := req
	other.Authority = certtest.New(t, "CA").Authority(t)
	_, _, err = f.GetCertificate(ctx, other)
	require.ErrorContains(t, err, "the password was not sent")
	for name, password := range map[string]string{"alice": "wrong", "mallory": "wonderland"} {
		wrong := req
		wrong.Name, wrong.Password = name, password
		_, _, err = f.GetCertificate(ctx, wrong)
		require.ErrorIs(t, err, proto.EACCES)
	}
	plain := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	_, _, err = mountWith(t, plain, nil).GetCertificate(ctx, req)
	require.ErrorIs(t, err, proto.ENOSYS)
}

func mustDER(t *testing.T, cert *usercert.Certificate) []byte {
	t.Helper()
	var cred proto.Credential
	require.NoError(t, cert.Sign(&cred))
	return cred.Certificate
}
