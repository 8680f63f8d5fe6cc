package client_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/secure"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/pvfstest"
	"github.com/viaduct-hpc/viaduct/internal/pvfs/server"
	"github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
)

// TestIdentitiesOfStaticKeys: the same for keys of via+udp, also if the servers share a key and connect to each other with it.
func TestIdentitiesOfStaticKeys(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"KEY_FILE", "KEY", "INSECURE"} {
		t.Setenv("VIADUCT_UDP_"+name, "")
	}
	keys, clients := map[string]*secure.PrivateKey{}, ""
	for _, name := range []string{"servers", "alice", "login", "stranger"} {
		key, err := secure.NewPrivateKey()
		require.NoError(t, err)
		keys[name] = key
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(key.Text()), 0o600))
		if name != "stranger" {
			clients += fmt.Sprintf("%s %s\n", name, key.Public())
		}
	}
	list := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	everyServer := fmt.Sprintf("* %s\n", keys["servers"].Public())
	t.Setenv("VIADUCT_UDP_PRIVATE_KEY_FILE", filepath.Join(dir, "servers"))
	t.Setenv("VIADUCT_UDP_CLIENTS_FILE", list("list of clients", clients))
	t.Setenv("VIADUCT_UDP_SERVERS_FILE", list("list of servers", everyServer))
	ids, err := credential.ParseIdentities([]byte("servers any\nlogin users\nalice 1000:1000,27"))
	require.NoError(t, err)
	c := pvfstest.Start(t, pvfstest.Options{Method: pvfstest.ViaUDP, Servers: 2, Server: func(_ int, cfg *server.Config) { cfg.Identities = ids }})
	use := func(name string, uid uint32, groups ...uint32) error {
		ep, err := bmi.Open(ctx, bmi.Config{Options: map[string]any{"via+udp": via.Options{
			Identity: &nic.Identity{PrivateFile: filepath.Join(dir, name), Servers: everyServer},
		}}})
		require.NoError(t, err)
		defer func() { require.NoError(t, ep.Close()) }()
		f, err := client.Mount(ctx, c.Source(), client.Options{Endpoint: ep, User: &client.Identity{UID: uid, Groups: groups}, Seed: 1})
		if err != nil {
			return err
		}
		defer func() { require.NoError(t, f.Close()) }()
		for n := range 4 { // on both servers
			if err := f.Mkdir(ctx, fmt.Sprint("d", n), 0o755); err != nil {
				return err
			}
			if err := f.Remove(ctx, fmt.Sprint("d", n)); err != nil {
				return err
			}
		}
		return nil
	}
	require.NoError(t, use("servers", 0, 0))
	require.NoError(t, use("login", 31337, 31337))
	require.NoError(t, use("alice", 1000, 1000, 27))
	for _, refused := range []struct {
		name   string
		uid    uint32
		groups []uint32
	}{
		{"login", 0, []uint32{0}}, {"login", 31337, []uint32{31337, 0}},
		{"alice", 0, []uint32{0}}, {"alice", 1001, []uint32{1000}}, {"alice", 1000, []uint32{1000, 28}},
	} {
		err := use(refused.name, refused.uid, refused.groups...)
		require.ErrorIs(t, err, fs.ErrPermission, "%+v", refused)
		require.ErrorIs(t, err, client.ErrAuthentication)
	}
	require.ErrorIs(t, use("stranger", 0, 0), bmi.ErrRefused)
}
