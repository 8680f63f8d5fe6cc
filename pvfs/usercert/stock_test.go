package usercert_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/golden"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// stockPassword is the user's password for the captured pvfs2-get-user-cert. openssl req -x509 made the authority in testdata for
// that.
const stockPassword = "wonderland"

// stockTime is the time of the capture.
var stockTime = time.Unix(1795580000, 0)

// stockAuthority is the authority of the captured messages.
func stockAuthority(t testing.TB) *usercert.Authority {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"ca.pem", "ca-key.pem"} { // a checkout does not set their modes
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	a, err := usercert.ReadAuthority(filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca-key.pem"))
	require.NoError(t, err)
	return a
}

func vector(t testing.TB, file, name string) []byte {
	t.Helper()
	for _, v := range golden.Load(t, filepath.Join("..", "proto", "testdata", "captured", file)) {
		if v.Name == name {
			return v.Bytes
		}
	}
	t.Fatalf("%s has no %s", file, name)
	return nil
}

// TestStock: captured messages of stock programs are understood. They are a credential with a certificate that a stock server had
// issued, the key that it sends, and the password and the private key that a client encrypts for it.
func TestStock(t *testing.T) {
	a := stockAuthority(t)
	_, req, err := proto.ParseRequest(vector(t, "getattr.golden", "request_6"))
	require.NoError(t, err)
	c := req.(*proto.GetAttrReq).Cred
	require.EqualValues(t, usercert.Anybody, c.User)
	u, err := a.Verify(c.Certificate, stockTime)
	require.NoError(t, err)
	require.Equal(t, usercert.Subject{CommonName: "alice", DN: "CN=alice,O=OrangeFS,C=US"}, u.Subject)
	require.NoError(t, credential.VerifyWith(u.Key, &c))
	c.Timeout = c.Timeout.Add(time.Second)
	require.ErrorIs(t, credential.VerifyWith(u.Key, &c), credential.ErrSignature)
	damaged := bytes.Clone(c.Certificate)
	damaged[len(damaged)-1] ^= 1
	_, err = a.Verify(damaged, stockTime)
	require.ErrorIs(t, err, usercert.ErrForeign, "a signature with SHA-1 is verified, too")

	var key proto.GetUserCertKeyResp
	require.NoError(t, key.Parse(vector(t, "mgmtgetusercertkeyreq.golden", "response")))
	require.Equal(t, a.PublicKey(), key.Key)
	_, req, err = proto.ParseRequest(vector(t, "mgmtgetusercert.golden", "request"))
	require.NoError(t, err)
	password, err := a.OpenPassword(req.(*proto.GetUserCertReq).Password)
	require.NoError(t, err)
	require.Equal(t, stockPassword, password)
	public, err := a.OpenKey(req.(*proto.GetUserCertReq).Key)
	require.NoError(t, err)
	var resp proto.GetUserCertResp
	require.NoError(t, resp.Parse(vector(t, "mgmtgetusercert.golden", "response")))
	u, err = a.Verify(resp.Certificate, stockTime)
	require.NoError(t, err)
	require.True(t, public.Equal(u.Key), "the certificate is for the key that was sent")
}
