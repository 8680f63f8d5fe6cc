package pvfsd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
)

// TestKeysOfClients: a client with a key from genkey is accepted, and no other.
func TestKeysOfClients(t *testing.T) {
	dir := t.TempDir()
	keystore, conf := filepath.Join(dir, "keystore"), filepath.Join(dir, "fs.conf")
	said := good(t, "genkey", "--keystore", keystore, "--dir", dir, "--bits", "1024", "node1", "node2")
	assert.Contains(t, said, "the key of node1 is in "+filepath.Join(dir, "node1.pem"))
	info, err := os.Stat(filepath.Join(dir, "node2.pem"))
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	good(t, "genconfig", "-o", conf, "--no-sync-meta", "--keystore", keystore, newAddress("mem"))
	identities := filepath.Join(dir, "identities")
	require.NoError(t, os.WriteFile(identities, []byte("node1 any # the servers' own\nnode2 users\n"), 0o644))
	server, addresses := serving(t, "--config", conf, "--dir", filepath.Join(dir, "data"), "--create", "--identities", identities)
	assert.NotContains(t, server.err.String(), "level=WARN")
	assert.Contains(t, good(t, "check-config", conf), "must sign their credentials with a key in "+keystore)

	key := func(name string) *credential.Key {
		key, err := credential.ReadKey(filepath.Join(dir, name+".pem"))
		require.NoError(t, err)
		return key
	}
	mkdir := func(name string, opt client.Options) error {
		if opt.User == nil {
			opt.User = &client.Identity{Groups: []uint32{0}}
		}
		f, err := client.Mount(t.Context(), addresses[0]+"/pvfs2-fs", opt)
		require.NoError(t, err)
		defer func() { require.NoError(t, f.Close()) }()
		if err := f.Mkdir(t.Context(), name, 0o700); err != nil {
			return err
		}
		return f.Chmod(t.Context(), name, 0o777)
	}
	require.NoError(t, mkdir("a", client.Options{Host: "node1", Key: key("node1")}))
	user := &client.Identity{UID: 1000, Groups: []uint32{1000}}
	require.NoError(t, mkdir("a/b", client.Options{Host: "node2", Key: key("node2"), User: user}))
	for says, opt := range map[string]client.Options{
		"this client has no key": {Host: "node1"},
		"do not accept the key of this client, under the name C:node1":    {Host: "node1", Key: key("node2")},
		"under the name C:node2, for user 0":                              {Host: "node2", Key: key("node2")},
		"do not accept the key of this client, under the name C:stranger": {Host: "stranger", Key: key("node1")},
	} {
		err := mkdir("c", opt)
		require.ErrorIs(t, err, client.ErrAuthentication)
		require.ErrorIs(t, err, os.ErrPermission)
		require.ErrorContains(t, err, says)
	}
	server.stop()
	require.Equal(t, ExitOK, server.wait().code)
	assert.Contains(t, server.err.String(), "  authentication failed\n")
}

func TestGenkeyMistakes(t *testing.T) {
	dir := t.TempDir()
	keystore := filepath.Join(dir, "keystore")
	good(t, "genkey", "--keystore", keystore, "--dir", dir, "--bits", "1024", "node")
	bad := filepath.Join(dir, "bad")
	require.NoError(t, os.WriteFile(bad, []byte("hello"), 0o600))
	for _, c := range []struct {
		says string
		args []string
	}{
		{"for which machine", []string{"--keystore", keystore}},
		{"which keystore", []string{"node"}},
		{"already has a key of node", []string{"--keystore", keystore, "node"}},
		{"exists already", []string{"--keystore", filepath.Join(dir, "other"), "--dir", dir, "--bits", "1024", "node"}},
		{"no name of a machine", []string{"--keystore", keystore, "../node"}},
		{"from 1024 to 4096 bits", []string{"--keystore", keystore, "--bits", "512", "weak"}},
		{"where a name that begins with C:", []string{"--keystore", bad, "node3"}},
	} {
		r := pvfsd(t, append([]string{"genkey"}, c.args...)...)
		assert.Equal(t, ExitUsage, r.code, c.args)
		assert.Contains(t, r.err.String(), c.says)
	}
}
