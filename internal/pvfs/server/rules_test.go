package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/pvfs/config"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// TestReload: rules for clients change while a server runs, and nothing else does.
func TestReload(t *testing.T) {
	c := pvfstest.Start(t, pvfstest.Options{Servers: 1})
	u := from(t, c, root(t, c))
	with := func(old, changed string) *config.Config {
		require.Contains(t, c.FS.Text, old)
		fs, err := config.Parse(strings.Replace(c.FS.Text, old, changed, 1))
		require.NoError(t, err)
		return fs
	}
	security := func(lines string) *config.Config { return with("</Security>", lines+"\n</Security>") }
	exports := func(lines string) *config.Config {
		return with("</StorageHints>", "</StorageHints>\n<ExportOptions>\n"+lines+"\n</ExportOptions>")
	}
	reload := func(fs *config.Config, ids *credential.Identities) {
		t.Helper()
		require.NoError(t, c.Server(0).Reload(fs, ids))
		resp, err := from(t, c, newUser(t, c, 5, 5)).do(0, nil, &proto.GetConfigReq{})
		if err == nil { // not if the network is not trusted
			require.Equal(t, fs.Text, resp.(*proto.GetConfigResp).Text)
		}
	}
	mkdir := func(name string) error {
		a, err := u.attr(c.FS.Root, proto.AttrCommon)
		if err != nil {
			return err
		}
		require.NotZero(t, a.Perms)
		_, err = u.mkdir(c.FS.Root, name, 0o755)
		return err
	}
	require.NoError(t, mkdir("a"))
	reload(exports("ReadOnly *"), nil)
	require.Equal(t, proto.EROFS, mkdir("b"))
	reload(security("TrustedNetwork tcp://10.0.0.0@8"), nil)
	require.Equal(t, proto.EACCES, mkdir("b"))
	reload(c.FS, nil)
	require.NoError(t, mkdir("b"))

	key, name := newKey(t), filepath.Join(t.TempDir(), "keystore")
	require.NoError(t, os.WriteFile(name, clientKeys(t, "test", key), 0o600))
	reload(security("KeyStore "+name), nil)
	require.Equal(t, proto.EPERM, mkdir("c"))
	require.NoError(t, key.Sign(&u.cred))
	require.NoError(t, mkdir("c"))
	ids, err := credential.ParseIdentities([]byte("test users"))
	require.NoError(t, err)
	reload(security("KeyStore "+name), ids)
	require.Equal(t, proto.EPERM, mkdir("d"))
	require.NoError(t, os.WriteFile(name, clientKeys(t, "test", newKey(t)), 0o600))
	reload(security("KeyStore "+name), nil) // the file has another key now
	require.Equal(t, proto.EPERM, mkdir("d"))
	reload(c.FS, nil)

	for what, fs := range map[string]*config.Config{
		"the start in FlowBuffers,": with("<FileSystem>", "<FileSystem>\nFlowBuffersPerFlow 3"),
		"the start in Security,":    security("CapabilityTimeoutSecs 5"),
		"KeyStore: open /none":      security("KeyStore /none"),
		"it has no alias":           renamed(t, c.FS.Text),
	} {
		err := c.Server(0).Reload(fs, nil)
		require.ErrorIs(t, err, server.ErrConfig)
		require.ErrorContains(t, err, what)
		require.NoError(t, mkdir(strings.ReplaceAll(what, "/", "")), "all is as before")
	}
}

// renamed is a configuration whose server has another alias.
func renamed(t *testing.T, text string) *config.Config {
	t.Helper()
	fs, err := config.Parse(strings.ReplaceAll(text, "server0", "other"))
	require.NoError(t, err)
	return fs
}
