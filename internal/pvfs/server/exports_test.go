package server_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/certtest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/store"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// TestRulesNeedKey: a server does not start with rules for clients that any client evades by claiming to be a server.
func TestRulesNeedKey(t *testing.T) {
	everyone := networks(t, "*")
	key := bytes.Repeat([]byte{7}, 32)
	rules := map[string]func(*config.Config){
		"ReadOnly":     func(c *config.Config) { c.Export.ReadOnly = everyone },
		"RootSquash":   func(c *config.Config) { c.Export.RootSquash = everyone },
		"AllSquash":    func(c *config.Config) { c.Export.AllSquash = everyone },
		"TrustedPorts": func(c *config.Config) { c.Security.TrustedPortFirst, c.Security.TrustedPortLast = 1, 1023 },
	}
	for name, set := range rules {
		err := begin(t, 2, nil, set)
		require.ErrorIs(t, err, server.ErrConfig, name)
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, "give all servers the same key")
		require.NoError(t, begin(t, 2, key, set), name)
		require.NoError(t, begin(t, 1, nil, set), "a server that is alone has a key of its own")
	}
	require.NoError(t, begin(t, 2, nil, func(*config.Config) {}))
}

// TestSecurityModeIsKeptOrRefused: a server does not start with a security mode in its configuration that it does not have.
func TestSecurityModeIsKeptOrRefused(t *testing.T) {
	key := bytes.Repeat([]byte{7}, 32)
	name := filepath.Join(t.TempDir(), "keystore")
	require.NoError(t, os.WriteFile(name, clientKeys(t, "host", newKey(t)), 0o600))
	store := func(c *config.Config) { c.Security.KeyStore = name }
	ca := certtest.New(t, "CA")
	authority := func(ldap config.LDAP) func(*config.Config) {
		return func(c *config.Config) {
			c.Security.CAFile, c.Security.ServerKey, c.Security.LDAP = ca.CertFile, ca.KeyFile, ldap
		}
	}
	require.NoError(t, begin(t, 2, key, authority(config.LDAP{Hosts: []string{"ldaps://x"}})))
	require.NoError(t, begin(t, 1, nil, store))
	require.NoError(t, begin(t, 2, key, store))
	for _, bad := range []struct {
		key  []byte
		says string
		set  func(*config.Config)
	}{
		{nil, "rules for clients (KeyStore)", store},
		{key, "KeyStore: open /none", func(c *config.Config) { c.Security.KeyStore = "/none" }},
		{key, "neither KeyStore nor CAFile", func(c *config.Config) { c.Security.ServerKey = "/etc/key.pem" }},
		{nil, "rules for clients (CAFile)", authority(config.LDAP{Hosts: []string{"ldaps://x"}})},
		{key, "open /etc/none.pem", func(c *config.Config) { c.Security.CAFile = "/etc/none.pem" }},
		{key, "nothing that says which user", authority(config.LDAP{})},
		{key, "BindDN needs BindPassword", authority(config.LDAP{Hosts: []string{"ldaps://x"}, BindDN: "cn=x"})},
		{key, "UserCertDN", func(c *config.Config) {
			authority(config.LDAP{Hosts: []string{"ldaps://x"}})(c)
			c.Security.UserCertDN = "CN=root"
		}},
		{key, "not the key of the authority", func(c *config.Config) {
			authority(config.LDAP{Hosts: []string{"ldaps://x"}})(c)
			c.Security.ServerKey = certtest.New(t, "other").KeyFile
		}},
	} {
		err := begin(t, 2, bad.key, bad.set)
		require.ErrorIs(t, err, server.ErrConfig)
		require.ErrorContains(t, err, bad.says)
	}
}

// begin makes the first of several servers with a configuration.
func begin(t *testing.T, servers int, key []byte, set func(*config.Config)) error {
	t.Helper()
	gen := config.GenOptions{DataDir: "/nowhere/data", MetaDir: "/nowhere/meta"}
	for _, alias := range []string{"a", "b"}[:servers] {
		gen.Servers = append(gen.Servers, config.GenServer{Alias: alias, Address: "tcp://" + alias + ":3334"})
	}
	text, err := config.Generate(gen)
	require.NoError(t, err)
	fs, err := config.Parse(text)
	require.NoError(t, err)
	set(fs)
	st, err := store.Open(t.TempDir(), store.Options{Meta: fs.Servers[0].Meta, Data: fs.Servers[0].Data, NoSyncMeta: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, st.Close()) }()
	_, err = server.New(server.Config{FS: fs, Alias: "a", Store: st, Key: key})
	return err
}
