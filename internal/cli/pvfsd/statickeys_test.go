package pvfsd

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/freeport"
	"github.com/viaduct-hpc/viaduct/internal/nic/udp/secure"
	"github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/pvfs/client"
)

// TestStaticKeysOfClients: over via+udp, a client acts for the users that --identities lists for its name, which is the name of
// its key. A client with an unknown key gets nothing under any name.
func TestStaticKeysOfClients(t *testing.T) {
	for _, name := range []string{"KEY_FILE", "KEY", "INSECURE"} {
		t.Setenv("VIADUCT_UDP_"+name, "")
	}
	dir, at := t.TempDir(), freeport.UDPAddress(t)
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	keys := map[string]*secure.PrivateKey{}
	for _, name := range []string{"server", "alice", "bob", "admin", "stranger", "thief"} {
		var err error
		keys[name], err = secure.NewPrivateKey()
		require.NoError(t, err)
		write(name+".key", keys[name].Text())
	}
	line := func(name, of string) string { return fmt.Sprintf("%s %s\n", name, keys[of].Public()) }
	t.Setenv("VIADUCT_UDP_PRIVATE_KEY_FILE", filepath.Join(dir, "server.key"))
	t.Setenv("VIADUCT_UDP_CLIENTS_FILE", write("clients", line("alice", "alice")+line("bob", "bob")+line("admin", "admin")))
	t.Setenv("VIADUCT_UDP_SERVERS_FILE", "")
	conf := filepath.Join(dir, "fs.conf")
	good(t, "genconfig", "-o", conf, "--no-sync-meta", "via+udp://"+at)
	identities := write("identities", "alice 1000:1000,27\nadmin any\n")
	server, addresses := serving(t, "--config", conf, "--dir", filepath.Join(dir, "data"), "--create", "--identities", identities)

	servers := line(at, "server")
	as := func(id nic.Identity, uid uint32, groups ...uint32) error {
		ep, err := bmi.Open(t.Context(), bmi.Config{Methods: []string{"via+udp"}, Options: map[string]any{"via+udp": via.Options{Identity: &id}}})
		require.NoError(t, err)
		defer func() { require.NoError(t, ep.Close()) }()
		f, err := client.Mount(t.Context(), addresses[0]+"/pvfs2-fs", client.Options{Endpoint: ep, User: &client.Identity{UID: uid, Groups: groups}, RetryLimit: -1})
		if err != nil {
			return err
		}
		defer func() { require.NoError(t, f.Close()) }()
		if uid == 0 {
			return f.Chmod(t.Context(), ".", 0o777)
		}
		if err := f.Mkdir(t.Context(), "d", 0o755); err != nil {
			return err
		}
		return f.Remove(t.Context(), "d")
	}
	key := func(name string) nic.Identity {
		return nic.Identity{PrivateFile: filepath.Join(dir, name+".key"), Servers: servers}
	}
	require.NoError(t, as(key("admin"), 0, 0))
	require.NoError(t, as(key("alice"), 1000, 1000, 27))
	for _, c := range []struct {
		name   string
		uid    uint32
		groups []uint32
	}{
		{"alice", 0, []uint32{0}}, {"alice", 1001, []uint32{1000}}, {"alice", 1000, []uint32{1000, 0}},
		{"bob", 1000, []uint32{1000}}, {"bob", 0, []uint32{0}},
	} {
		err := as(key(c.name), c.uid, c.groups...)
		require.ErrorIs(t, err, fs.ErrPermission, "%+v", c)
		require.ErrorIs(t, err, client.ErrAuthentication, "%+v", c)
	}

	// An attacker cannot even send a request: not with its own key, not if it claims to be alice, and not if it poses as the
	// server or listens at the server's address.
	alice := key("thief")
	alice.Clients = line("alice", "thief")
	for _, id := range []nic.Identity{key("stranger"), alice} {
		err := as(id, 1000, 1000)
		require.ErrorIs(t, err, bmi.ErrRefused)
		assert.ErrorContains(t, err, "our key is not in its list of clients")
	}
	wrong := key("alice")
	wrong.Servers = line("*", "stranger")
	err := as(wrong, 1000, 1000)
	require.ErrorIs(t, err, bmi.ErrRefused)
	assert.ErrorContains(t, err, "it does not have the key that is in our list of servers")
	wrong.Servers = line("127.0.0.1:1", "server")
	err = as(wrong, 1000, 1000)
	require.ErrorIs(t, err, bmi.ErrRefused)
	assert.ErrorContains(t, err, "have none for "+at)
	assert.Contains(t, server.err.String(), "a key that is not in the list of clients here, so it was refused: if it may connect, add a line with its name and its public key "+keys["stranger"].Public().String())
	require.NoError(t, as(key("alice"), 1000, 1000))
	server.stop()
	require.Equal(t, ExitOK, server.wait().code)
}
