package interop

import (
	"context"
	"crypto/x509"
	"io/fs"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/certtest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest/stock"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// certified are tools with certificates, on our servers or on stock ones.
func certified(t *testing.T, ours bool) (tools *stock.Tools, certs *stock.Certificates, source string) {
	t.Helper()
	o := stock.NeedCertificates(t)
	if !ours {
		c := stock.Start(t, stock.Options{Certificates: true})
		tools = c.Tools(t, c.Source())
		for range 600 { // as for stock servers
			if tools.Run(t, "pvfs2-stat", at("/lost+found")).Status == 0 {
				return tools, c.Certificates(), c.Source()
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Fatal("stock servers do not make their root directory")
	}
	c := pvfstest.Start(t, pvfstest.Options{Method: pvfstest.TCP, Config: o.Configure})
	return o.Tools(t, c.Source()), o.Certificates(), c.Source()
}

// get gets a certificate with pvfs2-get-user-cert. It returns its files.
func get(t *testing.T, tools *stock.Tools, name, password string) (r stock.Result, cert, key string) {
	t.Helper()
	cert, key = tools.File(name+".pem"), tools.File(name+"-key.pem")
	asked := *tools
	asked.In = password + "\n"
	return asked.Run(t, "pvfs2-get-user-cert", "-c", cert, "-k", key, name), cert, key
}

// TestCertificates: users get certificates with stock's program and with ours, from stock servers and from ours. Each works with
// them as the user of the directory, with stock's programs and with our client.
func TestCertificates(t *testing.T) {
	for name, ours := range map[string]bool{"ours": true, "theirs": false} {
		t.Run(name, func(t *testing.T) {
			tools, certs, source := certified(t, ours)
			tools.OK(t, "pvfs2-mkdir", at("/home"))
			tools.OK(t, "pvfs2-chmod", "777", at("/home"))
			r, cert, key := get(t, tools, "alice", "wonderland")
			require.Zero(t, r.Status, r.Out)
			r, _, _ = get(t, tools, "bob", "wonderland")
			require.NotZero(t, r.Status)
			require.Contains(t, r.Out, "Invalid username or password")
			r, _, _ = get(t, tools, "mallory", "wonderland")
			require.Contains(t, r.Out, "Invalid username or password")

			alice := tools.With(cert, key)
			local := tools.File("local")
			require.NoError(t, os.WriteFile(local, content(300_000), 0o600))
			alice.OK(t, "pvfs2-cp", local, at("/home/theirs"))
			alice.OK(t, "pvfs2-mkdir", at("/home/dir"))

			ctx := context.Background()
			by := func(cert *usercert.Certificate) *client.FS {
				f, err := client.Mount(ctx, source, client.Options{
					User: &client.Identity{UID: 7, Groups: []uint32{7}}, Seed: 1,
					Certificate: func(client.Identity) (*usercert.Certificate, error) { return cert, nil },
				})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, f.Close()) })
				return f
			}
			authority, err := usercert.ReadAuthority(certs.CA.CertFile, "")
			require.NoError(t, err)
			req := client.CertificateRequest{Name: "alice", Password: "wonderland", Authority: authority}
			mine, _, err := by(nil).GetCertificate(ctx, req)
			require.NoError(t, err)
			req.Password = "wrong"
			_, _, err = by(nil).GetCertificate(ctx, req)
			require.ErrorIs(t, err, proto.EACCES)
			theirs, err := usercert.Read(cert, key)
			require.NoError(t, err)
			for _, f := range []*client.FS{by(mine), by(theirs)} {
				b, err := fs.ReadFile(f, "home/theirs")
				require.NoError(t, err)
				require.Equal(t, content(300_000), b)
				require.NoError(t, f.Mkdir(ctx, "home/mine", 0o755))
				file, err := f.Create(ctx, "home/mine/file")
				require.NoError(t, err)
				_, err = file.Write(content(200_000))
				require.NoError(t, err)
				require.NoError(t, file.Close())
				require.NoError(t, f.Symlink(ctx, "file", "home/mine/link"))
				for _, made := range []string{"home/theirs", "home/dir", "home/mine", "home/mine/file", "home/mine/link"} {
					info, err := f.LstatCtx(ctx, made)
					require.NoError(t, err)
					require.EqualValues(t, 1000, info.Attr.Owner, made)
					require.EqualValues(t, 100, info.Attr.Group, made)
				}
				alice.OK(t, "pvfs2-cp", at("/home/mine/file"), tools.File("back"))
				back, err := os.ReadFile(tools.File("back"))
				require.NoError(t, err)
				require.Equal(t, content(200_000), back)
				require.NoError(t, f.RemoveAll(ctx, "home/mine"))
			}
			bob := by(certs.CA.User(t, "bob", nil))
			require.ErrorIs(t, bob.Chmod(ctx, "home/theirs", 0o777), fs.ErrPermission)
		})
	}
}

// TestStrangersWithCertificates: stock's programs can do nothing with an invalid certificate, and neither can our client. A stock
// server accepts any certificate with the subject of a cached user, whoever signed it (docs/reference/security-pvfs.md), so that is not
// tried there.
func TestStrangersWithCertificates(t *testing.T) {
	for name, ours := range map[string]bool{"ours": true, "theirs": false} {
		t.Run(name, func(t *testing.T) {
			tools, certs, source := certified(t, ours)
			tools.OK(t, "pvfs2-mkdir", at("/d"))
			tools.OK(t, "pvfs2-chmod", "777", at("/d"))
			other, key := certtest.New(t, "OrangeFS CA"), certtest.NewKey(t)
			write := func(name string, text []byte) string {
				path := tools.File(name)
				require.NoError(t, os.WriteFile(path, text, 0o600))
				return path
			}
			keyFile, strange := write("key", key.Private()), write("strange", certtest.NewKey(t).Private())
			good := write("good", certtest.PEM(certs.CA.Sign(t, "alice", key, nil)))
			tools.With(good, keyFile).OK(t, "pvfs2-touch", at("/d/good"))
			for name, files := range map[string][2]string{
				"none":    {"/nonexistent", keyFile},
				"stolen":  {good, strange},
				"foreign": {write("foreign", certtest.PEM(other.Sign(t, "alice", key, nil))), keyFile},
				"nobody":  {write("nobody", certtest.PEM(certs.CA.Sign(t, "mallory", key, nil))), keyFile},
				"expired": {write("expired", certtest.PEM(certs.CA.Sign(t, "alice", key, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }))), keyFile},
			} {
				if !ours && (name == "foreign" || name == "expired") {
					continue
				}
				tools.With(files[0], files[1]).Run(t, "pvfs2-touch", at("/d/"+name)) // its exit status is not reliable
				require.NotZero(t, tools.Run(t, "pvfs2-stat", at("/d/"+name)).Status, "%s made a file", name)
			}
			ctx := context.Background()
			for name, cert := range map[string]*usercert.Certificate{
				"foreign": other.User(t, "alice", nil), "nobody": certs.CA.User(t, "mallory", nil), "none": nil,
			} {
				if !ours && name == "foreign" {
					continue
				}
				f, err := client.Mount(ctx, source, client.Options{
					User: &client.Identity{UID: 0, Groups: []uint32{0}}, Seed: 1, RetryLimit: -1,
					Certificate: func(client.Identity) (*usercert.Certificate, error) { return cert, nil },
				})
				require.NoError(t, err)
				require.Error(t, f.Mkdir(ctx, "d/"+name, 0o755), name)
				require.NoError(t, f.Close())
			}
		})
	}
}
