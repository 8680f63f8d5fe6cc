package credential_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// newKey makes a key of the smallest length.
func newKey(t testing.TB) *credential.Key {
	t.Helper()
	key, err := credential.GenerateKey(1024)
	require.NoError(t, err)
	return key
}

// entry is a keystore entry.
func entry(t testing.TB, name string, key *credential.Key) string {
	t.Helper()
	public, err := key.Public()
	require.NoError(t, err)
	return name + "\n" + string(public) // also for names that are not clients
}

func keystore(t testing.TB, entries ...string) *credential.Keystore {
	t.Helper()
	ks, err := credential.ParseKeystore([]byte(strings.Join(entries, "")))
	require.NoError(t, err)
	return ks
}

func signed(key *credential.Key) *proto.Credential {
	c := &proto.Credential{User: 1000, Groups: []uint32{100, 27}, Issuer: "C:node", Timeout: time.Unix(2000000000, 0)}
	if err := key.Sign(c); err != nil {
		panic(err)
	}
	return c
}

// TestSigned: a credential signed by a client of the keystore is accepted, and no other one, whether it is cached or not.
func TestSigned(t *testing.T) {
	key, other := newKey(t), newKey(t)
	entries := []string{entry(t, "C:node", key), entry(t, "C:other", other), entry(t, "S:server", key)}
	for name, change := range map[string]func(*proto.Credential){
		"user":      func(c *proto.Credential) { c.User = 0 },
		"group":     func(c *proto.Credential) { c.Groups[1] = 0 },
		"no group":  func(c *proto.Credential) { c.Groups = c.Groups[:1] },
		"a group":   func(c *proto.Credential) { c.Groups = append(c.Groups, 0) },
		"timeout":   func(c *proto.Credential) { c.Timeout = c.Timeout.Add(time.Second) },
		"signature": func(c *proto.Credential) { c.Signature[len(c.Signature)-1] ^= 1 },
		"longer":    func(c *proto.Credential) { c.Signature = append(c.Signature, 0) },
		"shorter":   func(c *proto.Credential) { c.Signature = c.Signature[:127] },
		"of others": func(c *proto.Credential) { c.Issuer = "C:other" },
	} {
		ks := keystore(t, entries...)
		changed := signed(key)
		change(changed)
		require.ErrorIs(t, ks.Verify(changed), credential.ErrSignature, name)
		require.NoError(t, ks.Verify(signed(key)))
		require.NoError(t, ks.Verify(signed(key)), "seen before")
		require.ErrorIs(t, ks.Verify(changed), credential.ErrSignature, name)
	}
	ks := keystore(t, entries...)
	require.Equal(t, 2, ks.Clients())
	unsigned := signed(key)
	unsigned.Signature = nil
	require.ErrorIs(t, ks.Verify(unsigned), credential.ErrUnsigned)
	for _, issuer := range []string{"C:nobody", "S:server", "", "C:", "c:node"} {
		c := signed(key)
		c.Issuer = issuer
		require.NoError(t, key.Sign(c))
		require.ErrorIs(t, ks.Verify(c), credential.ErrIssuer, issuer)
	}
}

// TestChecker: a cached credential is accepted again, but not with another key or another signature.
func TestChecker(t *testing.T) {
	key, other := newKey(t), newKey(t)
	var k credential.Checker
	one, two := [32]byte{1}, [32]byte{2}
	for range 2 {
		require.NoError(t, k.Verify(&key.RSA().PublicKey, one, signed(key)))
		require.ErrorIs(t, k.Verify(&other.RSA().PublicKey, two, signed(key)), credential.ErrSignature)
		require.ErrorIs(t, k.Verify(&key.RSA().PublicKey, one, signed(other)), credential.ErrSignature)
	}
	unsigned := signed(key)
	unsigned.Signature = nil
	require.ErrorIs(t, k.Verify(&key.RSA().PublicKey, one, unsigned), credential.ErrUnsigned)
}

// TestManySeen: with any number of credentials, each is verified by itself.
func TestManySeen(t *testing.T) {
	key := newKey(t)
	ks := keystore(t, entry(t, "C:node", key))
	var all []*proto.Credential
	for i := range 50 {
		c := signed(key)
		c.User = uint32(i)
		require.NoError(t, key.Sign(c))
		all = append(all, c)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 20 {
				for _, c := range all {
					if err := ks.Verify(c); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Wait()
}

// TestStockSignature: a credential signed by OrangeFS's pvfs2-gencred with a key of its pvfs2-gen-keys.sh is accepted, and our
// signature is equal.
func TestStockSignature(t *testing.T) {
	key, err := credential.ReadKey(private(t, filepath.Join("testdata", "clientkey.pem")))
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join("testdata", "keystore"))
	require.NoError(t, err)
	ks := keystore(t, string(text))
	c := proto.Credential{
		User: stockUser, Groups: []uint32{stockGroup}, Issuer: stockIssuer, Timeout: time.Unix(stockTimeout, 0),
	}
	require.NoError(t, key.Sign(&c))
	require.Equal(t, stockSignature, fmt.Sprintf("%x", c.Signature))
	require.NoError(t, ks.Verify(&c))
}

// private copies a file with a mode for its owner only, because a checkout of the repository does not set modes.
func private(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "private.pem")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// TestFiles: a file that is not a key, or that others can use, is refused with an error that says what to do.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	key := newKey(t)
	good := string(key.Private())
	_, err := credential.ReadKey(write("good", good, 0o600))
	require.NoError(t, err)
	for _, bad := range []struct{ path, says string }{
		{write("open", good, 0o644), "chmod 600"},
		{write("none", "hello", 0o600), "no key in PEM"},
		{write("public", entry(t, "", key), 0o600), "want an RSA PRIVATE KEY"},
		{write("cut", strings.Replace(good, "\nMII", "\nMIJ", 1), 0o600), ""},
		{dir, "not a regular file"},
	} {
		_, err := credential.ReadKey(bad.path)
		require.ErrorIs(t, err, credential.ErrFile, bad.path)
		require.ErrorContains(t, err, bad.says)
	}
	_, err = credential.ReadKey(filepath.Join(dir, "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)

	store := entry(t, "C:a", key)
	_, err = credential.ReadKeystore(write("store", store, 0o644))
	require.NoError(t, err)
	_, err = credential.ReadKeystore(write("writable", store, 0o666))
	require.ErrorContains(t, err, "others can write")
	if os.Geteuid() != 0 {
		t.Log("only root can make a file of another user")
		return
	}
	strangers := write("strangers", store, 0o644)
	require.NoError(t, os.Chown(strangers, 31337, 31337))
	_, err = credential.ReadIdentities(strangers)
	require.ErrorContains(t, err, "belongs to another user")
	_, err = credential.ReadKeystore(strangers)
	require.ErrorIs(t, err, credential.ErrFile)
	require.ErrorContains(t, err, "belongs to another user")
}

// TestKeystoreText: a keystore is parsed as by OrangeFS, and errors in it are reported with their lines.
func TestKeystoreText(t *testing.T) {
	old, key := newKey(t), newKey(t)
	ks := keystore(t, "\n \n", entry(t, "C:node", old), "\n\n", entry(t, "C:node", key), "\n")
	require.Equal(t, 1, ks.Clients())
	require.NoError(t, ks.Verify(signed(key)), "the last key of a name is the one")
	require.ErrorIs(t, ks.Verify(signed(old)), credential.ErrSignature)
	one := entry(t, "C:a", key)
	lines := strings.Count(one, "\n")
	for text, says := range map[string]string{
		"node\n" + strings.TrimPrefix(one, "C:a\n"):        "line 1: \"node\" where a name",
		one + "C:\n" + one:                                 fmt.Sprintf("line %d: a name is empty", lines+1),
		one + "\nC:b\n":                                    fmt.Sprintf("line %d: the key of C:b: there is no PUBLIC KEY", lines+2),
		"C:a\n" + string(key.Private()):                    "there is no PUBLIC KEY",
		one[:len(one)/2]:                                   "it is not a whole PEM block",
		strings.Replace(one, "-----BEGIN", "----BEGIN", 1): "there is no PUBLIC KEY",
	} {
		_, err := credential.ParseKeystore([]byte(text))
		require.ErrorIs(t, err, credential.ErrFile, text)
		require.ErrorContains(t, err, says)
	}
}

func FuzzKeystore(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "keystore"))
	require.NoError(f, err)
	f.Add(text)
	f.Add(bytes.Replace(text, []byte("BEGIN"), []byte("BEGIN X"), 1))
	f.Fuzz(func(t *testing.T, text []byte) {
		ks, err := credential.ParseKeystore(text)
		if err != nil {
			require.ErrorIs(t, err, credential.ErrFile)
			return
		}
		require.ErrorIs(t, ks.Verify(&proto.Credential{Issuer: "C:nobody", Signature: []byte{1}}), credential.ErrIssuer)
	})
}
