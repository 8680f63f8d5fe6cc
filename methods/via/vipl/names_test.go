package vipl

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const hostsText = `# address     name   aliases
10.0.0.1:7000  Node1  head   # the first
10.0.0.2:7000  node1

	node2-shm  node2
#
`

func TestHosts(t *testing.T) {
	h, err := ParseHosts([]byte(hostsText), nil)
	require.NoError(t, err)
	addrs, err := h.HostByName("NODE1")
	require.NoError(t, err)
	assert.Equal(t, []string{"10.0.0.1:7000", "10.0.0.2:7000"}, addrs)
	addrs[0] = "spoilt"
	addrs, err = h.HostByName("head")
	require.NoError(t, err)
	assert.Equal(t, []string{"10.0.0.1:7000"}, addrs)
	name, err := h.HostByAddr("node2-shm")
	require.NoError(t, err)
	assert.Equal(t, "node2", name)
	_, err = h.HostByName("nobody")
	require.ErrorIs(t, err, ErrNameService)
	_, err = h.HostByAddr("nowhere")
	require.ErrorIs(t, err, ErrNameService)

	chained, err := ParseHosts([]byte("a b"), h)
	require.NoError(t, err)
	_, err = chained.HostByName("node2")
	require.NoError(t, err)
	_, err = chained.HostByAddr("node2-shm")
	require.NoError(t, err)
}

func TestHostsErrorsSayWhere(t *testing.T) {
	bad := map[string]string{
		"a b\nlonely\n":                        "line 2",
		"a b\n\n\xff\xfe b\n":                  "line 3",
		"a \x01b\n":                            "cannot be printed",
		strings.Repeat("x", HostsLineMax+10):   "more than 4096 bytes",
		strings.Repeat("\n", HostsBytesMax+10): "at most",
	}
	for text, want := range bad {
		_, err := ParseHosts([]byte(text), nil)
		require.ErrorIs(t, err, ErrNameService)
		assert.Contains(t, err.Error(), want)
	}
}

func TestLoadHosts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hosts")
	_, err := LoadHosts(path, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorIs(t, err, ErrNameService)
	require.NoError(t, os.WriteFile(path, []byte(hostsText), 0o600))
	h, err := LoadHosts(path, nil)
	require.NoError(t, err)
	_, n, _ := stubbed(t, false)

	_, err = n.HostByName("node1", 0)
	require.ErrorIs(t, err, ErrNameService, "NSInit comes first")
	_, err = n.HostByAddr(Address{})
	require.ErrorIs(t, err, ErrNameService)
	require.NoError(t, n.NSInit(h))
	addr, err := n.HostByName("node1", 1)
	require.NoError(t, err)
	assert.Equal(t, Address{Host: "10.0.0.2:7000"}, addr)
	_, err = n.HostByName("node1", 2)
	require.ErrorIs(t, err, ErrNameService)
	name, err := n.HostByAddr(addr)
	require.NoError(t, err)
	assert.Equal(t, "node1", name)
	n.NSShutdown()
	_, err = n.HostByName("node1", 0)
	require.ErrorIs(t, err, ErrNameService)
	t.Setenv(HostsEnv, "")
	require.NoError(t, n.NSInit(nil))
	assert.Equal(t, DNS{}, n.names)
	t.Setenv(HostsEnv, path)
	require.NoError(t, n.NSInit(nil))
	addr, err = n.HostByName("node2", 0)
	require.NoError(t, err)
	assert.Equal(t, "node2-shm", addr.Host)
	t.Setenv(HostsEnv, path+".none")
	require.ErrorIs(t, n.NSInit(nil), ErrNameService)

	require.NoError(t, os.WriteFile(path, []byte("lonely"), 0o600))
	_, err = LoadHosts(path, nil)
	assert.ErrorContains(t, err, path)
	require.NoError(t, os.WriteFile(path, make([]byte, HostsBytesMax+1), 0o600))
	_, err = LoadHosts(path, nil)
	assert.ErrorContains(t, err, "at most")
}

func TestDNS(t *testing.T) {
	dead := errors.New("no network in a test")
	d := DNS{Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, dead
	}}}
	addrs, err := d.HostByName("127.0.0.1:7000")
	require.NoError(t, err, "numbers need no server")
	assert.Equal(t, []string{"127.0.0.1:7000"}, addrs)
	addrs, err = d.HostByName("::1")
	require.NoError(t, err)
	assert.Equal(t, []string{"::1"}, addrs)
	_, err = d.HostByName("name.invalid:7000")
	require.ErrorIs(t, err, ErrNameService)
	_, err = d.HostByAddr("192.0.2.1:7000")
	require.ErrorIs(t, err, ErrNameService)
	assert.Same(t, net.DefaultResolver, DNS{}.resolver())
}

func FuzzParseHosts(f *testing.F) {
	f.Add([]byte(hostsText))
	f.Add([]byte("a b c\n#\n\xff"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := ParseHosts(text, nil)
		if err != nil {
			assert.ErrorIs(t, err, ErrNameService)
			return
		}
		for addr, name := range h.names {
			addrs, err := h.HostByName(name)
			require.NoError(t, err)
			assert.Contains(t, addrs, addr)
		}
	})
}
