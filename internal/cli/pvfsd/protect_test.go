package pvfsd

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/pvfs/config"
)

// TestProtect: the networks of servers come from their addresses, and root of all other machines is squashed.
func TestProtect(t *testing.T) {
	s := surveyor{
		lookup: func(host string) ([]netip.Addr, error) {
			if host != "named" {
				return nil, errors.New("no such host")
			}
			return []netip.Addr{netip.MustParseAddr("::ffff:10.1.2.9"), netip.MustParseAddr("fe80::1%eth0")}, nil
		},
		local: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("192.168.0.0/20")},
	}
	servers := func(addresses ...string) (all []config.GenServer) {
		for _, a := range addresses {
			all = append(all, config.GenServer{Address: a})
		}
		return all
	}
	for _, c := range []struct {
		servers []config.GenServer
		want    protection
	}{
		{servers("tcp://127.0.0.1:1,via+shm://a", "tcp://127.0.0.1:2,via+shm://b"), protection{
			trusted: []string{"tcp://127.0.0.0@8", "via+shm://*"}, squash: []string{"tcp://*"}, exempt: []string{"tcp://127.0.0.1"},
		}},
		{servers("tcp://192.168.3.4:1,via+udp://192.168.3.4:2", "tcp://10.0.0.7:1"), protection{
			trusted: []string{"tcp://192.168.0.0@20", "via+udp://192.168.0.0@20", "tcp://10.0.0.0@24"},
			squash:  []string{"tcp://*", "via+udp://*"},
			exempt:  []string{"tcp://192.168.3.4", "via+udp://192.168.3.4", "tcp://10.0.0.7"},
		}},
		{servers("tcp://named:1", "tcp://[2001:db8::1]:1", "tcp://nowhere:1"), protection{
			trusted: []string{"tcp://10.1.2.0@24", "tcp://fe80::@64", "tcp://2001:db8::@64"},
			squash:  []string{"tcp://*"},
			exempt:  []string{"tcp://10.1.2.9", "tcp://fe80::1", "tcp://2001:db8::1"},
			unknown: []string{"nowhere"},
		}},
		{servers("tcp://named", "via+shm://a"), protection{trusted: []string{"via+shm://*"}, portless: []string{"tcp://named"}}},
		{servers("mem://x"), protection{trusted: []string{"mem://*"}}},
	} {
		p := s.protect(c.servers)
		require.Equal(t, c.want, p)
		for _, pattern := range append(append(p.trusted, p.squash...), p.exempt...) {
			_, err := config.ParseNetwork(pattern)
			require.NoError(t, err)
		}
	}
}

// TestGenconfigIsSafe: the configuration of genconfig without options keeps other networks out, and servers start with it.
func TestGenconfigIsSafe(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "fs.conf")
	r := pvfsd(t, "genconfig", "-o", conf, "--no-sync-meta", "a=tcp://127.0.0.1:0", "b=tcp://127.0.0.1:0")
	require.Equal(t, ExitOK, r.code, r.err.String())
	assert.Contains(t, r.err.String(), "clients may connect from tcp://127.0.0.0@8\n")
	assert.Contains(t, r.err.String(), "root of a client becomes nobody, except on tcp://127.0.0.1\n")
	key := filepath.Join(dir, "fs.key")
	assert.Contains(t, r.err.String(), "the key of the servers is in "+key)

	said := good(t, "check-config", conf)
	assert.Contains(t, said, "may connect only from tcp://127.0.0.0@8")
	assert.Contains(t, said, "root from tcp://* becomes user 65534, group 65534, but not from tcp://127.0.0.1")
	assert.Contains(t, said, "capabilities after 10m0s")

	serve := []string{"--config", conf, "--alias", "a", "--dir", filepath.Join(dir, "a"), "--create"}
	r = pvfsd(t, append([]string{"serve"}, serve...)...)
	assert.Equal(t, ExitUsage, r.code)
	assert.Contains(t, r.err.String(), "give all servers the same key")
	r, _ = serving(t, append(serve, "--key-file", key)...)
	assert.NotContains(t, r.err.String(), "level=WARN")

	was, err := os.ReadFile(key)
	require.NoError(t, err)
	require.NoError(t, os.Remove(conf))
	good(t, "genconfig", "-o", conf, "a=tcp://127.0.0.1:0", "b=tcp://127.0.0.1:0")
	is, err := os.ReadFile(key)
	require.NoError(t, err)
	assert.Equal(t, was, is, "a key that is there is kept")

	r = pvfsd(t, "genconfig", "a=tcp://127.0.0.1")
	require.Equal(t, ExitUsage, r.code)
	assert.Contains(t, r.err.String(), "tcp://127.0.0.1 has no port: give one, such as tcp://127.0.0.1:3334")

	wide := good(t, "genconfig", "--trusted", "*", "a=tcp://127.0.0.1:0")
	assert.NotContains(t, wide, "TrustedNetwork")
	assert.Contains(t, wide, "RootSquash tcp://*")

	open := filepath.Join(dir, "open.conf")
	r = pvfsd(t, "genconfig", "--insecure", "-o", open, "a=tcp://a:0", "b=tcp://b:0")
	require.Equal(t, ExitOK, r.code, r.err.String())
	assert.Contains(t, r.err.String(), "every program that can reach the servers can act as any user")
	assert.NoFileExists(t, filepath.Join(dir, "open.key"))
	assert.Contains(t, good(t, "check-config", open), "may connect from anywhere")
}
