package usercert_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/need"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/certtest"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// TestCertificateFiles: a certificate signs credentials if the key is its own and only its owner can read it.
func TestCertificateFiles(t *testing.T) {
	ca := certtest.New(t, "CA")
	key, other := certtest.NewKey(t), certtest.NewKey(t)
	dir := t.TempDir()
	write := func(name string, text []byte, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, text, mode))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	cert := write("cert", certtest.PEM(ca.Sign(t, "alice", key, nil)), 0o644)
	own := write("key", key.Private(), 0o600)
	c, err := usercert.Read(cert, own)
	require.NoError(t, err)
	require.Equal(t, "alice", c.Name())
	cred := proto.Credential{User: 5, Groups: []uint32{5, 6}, Issuer: "C:node", Timeout: time.Unix(2000000000, 0)}
	require.NoError(t, c.Sign(&cred))
	require.EqualValues(t, usercert.Anybody, cred.User)
	require.Equal(t, []uint32{usercert.Anybody}, cred.Groups)
	u, err := ca.Authority(t).Verify(cred.Certificate, time.Now())
	require.NoError(t, err)
	require.NoError(t, credential.VerifyWith(u.Key, &cred))

	for says, files := range map[string][2]string{
		"for another key":       {cert, write("other", other.Private(), 0o600)},
		"no certificate in PEM": {own, own},
		"no key in PEM":         {cert, write("empty", nil, 0o600)},
		"chmod 600":             {cert, write("open", key.Private(), 0o644)},
	} {
		_, err := usercert.Read(files[0], files[1])
		require.ErrorIs(t, err, usercert.ErrFile, says)
		require.Error(t, err)
	}
	_, err = usercert.Read(filepath.Join(dir, "missing"), own)
	require.ErrorIs(t, err, os.ErrNotExist)

	private := write("private", certtest.PEM(ca.Sign(t, "alice", key, nil)), 0o600)
	uid := uint32(os.Geteuid())
	_, err = usercert.ReadOf(uid, private, own)
	require.NoError(t, err)
	_, err = usercert.ReadOf(uid+1, private, own)
	require.ErrorContains(t, err, "does not belong to user")
}

// TestOthersKey: root does not use another user's key to which a home directory links.
func TestOthersKey(t *testing.T) {
	need.AsRoot(t)
	const mallory, alice = 31337, 31338
	ca := certtest.New(t, "CA")
	key := certtest.NewKey(t)
	dir := t.TempDir()
	for name, text := range map[string][]byte{"cert": certtest.PEM(ca.Sign(t, "alice", key, nil)), "key": key.Private()} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		require.NoError(t, os.Chown(path, alice, alice))
		require.NoError(t, os.Symlink(path, path+".link"))
		require.NoError(t, os.Lchown(path+".link", mallory, mallory))
	}
	_, err := usercert.ReadOf(alice, filepath.Join(dir, "cert"), filepath.Join(dir, "key"))
	require.NoError(t, err)
	_, err = usercert.ReadOf(mallory, filepath.Join(dir, "cert.link"), filepath.Join(dir, "key.link"))
	require.ErrorIs(t, err, usercert.ErrFile)
}
