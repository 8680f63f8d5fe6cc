package secure

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPrivateKeyFile(t *testing.T) {
	key, err := NewPrivateKey()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, []byte(key.Text()), 0o600))
	assert.Contains(t, key.Text(), key.Public().String())
	for _, source := range []IdentitySource{{PrivateFile: path}, {Private: key.pair.Private}} {
		id, err := source.Load()
		require.NoError(t, err)
		assert.Equal(t, key, id.Private)
		assert.Nil(t, id.Clients)
		assert.Nil(t, id.Servers)
		assert.False(t, source.Empty())
	}
	require.NoError(t, os.Chmod(path, 0o640))
	_, err = (&IdentitySource{PrivateFile: path}).Load()
	assert.ErrorContains(t, err, "chmod 600")
	_, err = LoadKey(Source{Text: key.Text()})
	assert.ErrorContains(t, err, "private key of one endpoint")
	other, err := NewPrivateKey()
	require.NoError(t, err)
	assert.NotEqual(t, key.Public(), other.Public())
	assert.NotEqual(t, key.derive("x"), other.derive("x"))
}

func TestBadPrivateKeys(t *testing.T) {
	key := privateOf(t, "x")
	line := strings.SplitN(key.Text(), "\n", 3)[2]
	for text, says := range map[string]string{
		"":                                       "it is no private key",
		key.Public().String():                    "it is no private key",
		"alice " + key.Public().String():         "it is no private key",
		line + line:                              "more than one line",
		privateMark + " AAAA":                    "not 32 bytes in base64",
		privateMark + " " + PublicKey{}.String(): "all its bytes are zero",
	} {
		_, err := parsePrivateKey([]byte(text))
		require.ErrorContains(t, err, says, text)
		assert.NotContains(t, err.Error(), strings.Fields(line)[1])
	}
	for _, n := range []int{0, 31, 33, 64} {
		_, err := (&IdentitySource{Private: make([]byte, n)}).Load()
		assert.ErrorContains(t, err, "want 32 random ones")
	}
}

func TestIdentitySources(t *testing.T) {
	key, public := privateOf(t, "x").pair.Private, publicOf(t, "y").String()
	assert.True(t, (&IdentitySource{}).Empty())
	path := filepath.Join(t.TempDir(), "list")
	require.NoError(t, os.WriteFile(path, []byte("alice "+public+"\n"), 0o644))
	id, err := (&IdentitySource{Private: key, ClientsFile: path, Servers: "* " + public}).Load()
	require.NoError(t, err)
	assert.Equal(t, "alice", id.Name(publicOf(t, "y")))
	assert.True(t, id.Clients.Has("alice"))
	assert.False(t, id.Clients.Has("bob"))
	for says, source := range map[string]IdentitySource{
		"no private key of this side":     {Clients: "alice " + public},
		"a private key and a file":        {Private: key, PrivateFile: path},
		"clients and a file with them":    {Private: key, ClientsFile: path, Clients: "x"},
		"servers and a file with them":    {Private: key, ServersFile: path, Servers: "x"},
		"public keys of clients: line 1:": {Private: key, Clients: "x"},
		path + ": line 1: \"alice\"":      {Private: key, ServersFile: path},
		"no such file":                    {Private: key, ServersFile: path + "x"},
	} {
		_, err := source.Load()
		assert.ErrorContains(t, err, says)
	}
	require.NoError(t, os.Chmod(path, 0o666))
	_, err = (&IdentitySource{Private: key, ClientsFile: path}).Load()
	assert.ErrorContains(t, err, "others can write")
}

func TestClients(t *testing.T) {
	a, b := publicOf(t, "a").String(), publicOf(t, "b").String()
	c, err := ParseClients([]byte("# people\n\nalice " + a + " # at home\n\talice   " + b + "\r\n"))
	require.NoError(t, err)
	assert.Equal(t, "alice", c.Name(publicOf(t, "a")))
	assert.Equal(t, "alice", c.Name(publicOf(t, "b")))
	assert.Empty(t, c.Name(publicOf(t, "c")))
	for text, says := range map[string]string{
		"alice " + a + "\nbob " + a:       "line 2: alice and bob have the same key",
		"alice":                           "line 1: want a NAME and a public key",
		"alice " + a + " x":               "want a NAME and a public key",
		"alice " + a[1:]:                  "want a public key, 32 bytes in base64",
		"alice " + PublicKey{}.String():   "zeros",
		"* " + a:                          "cannot stand", // in identities it is everybody else
		"~alice " + a:                     "cannot stand",
		"-alice " + a:                     "must begin with",
		"ali/ce " + a:                     "cannot stand",
		"ali\x1bce " + a:                  "cannot stand",
		strings.Repeat("a", 65) + " " + a: "1 to 64",
		privateOf(t, "a").Text():          "line 3: this is a private key",
	} {
		_, err := ParseClients([]byte(text))
		assert.ErrorContains(t, err, says, text)
	}
}

func TestServers(t *testing.T) {
	key := func(name string) PublicKey { return publicOf(t, name) }
	s, err := ParseServers([]byte(strings.Join([]string{
		"* " + key("rest").String(), "10.0.0.*:7000 " + key("net").String(), "Node7:7000 " + key("node7").String(),
		"[2001:DB8::1]:7000 " + key("six").String(), "node7:7000 " + key("node7").String(),
	}, "\n")))
	require.NoError(t, err)
	first, err := ParseServers([]byte("node7:* " + key("node7").String() + "\n[2001:db8::*]:7000 " + key("six").String() + "\n10.* x" + key("net").String()[1:]))
	require.Error(t, err)
	require.Nil(t, first)
	first, err = ParseServers([]byte("node7:* " + key("node7").String() + "\n[2001:db8::*]:7000 " + key("six").String() + "\n*:7000 " + key("net").String()))
	require.NoError(t, err)
	for address, want := range map[string][2]string{
		"node7:7000":         {"node7", "node7"},
		"node7:7001":         {"rest", "node7"},
		"node77:7000":        {"rest", "net"},
		"node77:7001":        {"rest", ""},
		"[2001:db8::1]:7000": {"six", "six"},
		"[2001:db8::9]:7000": {"rest", "six"},
		"10.0.0.1:7000":      {"rest", "net"}, // the first line that fits
	} {
		got, ok := s.Key(address)
		assert.True(t, ok)
		assert.Equal(t, key(want[0]), got, address)
		got, ok = first.Key(address)
		assert.Equal(t, want[1] != "", ok, address)
		if ok {
			assert.Equal(t, key(want[1]), got, address)
		}
	}
	_, ok := (*Servers)(nil).Key("node7:7000")
	assert.False(t, ok)
	a, b := key("a").String(), key("b").String()
	for text, says := range map[string]string{
		"node7 " + a:                             "an example is node7:7000",
		"node7:0 " + a:                           "nobody can connect",
		"[::]:7000 " + a:                         "nobody can connect",
		"via+udp://node7:7000 " + a:              "an example is node7:7000",
		"via+udp://node7:* " + a:                 "cannot stand",
		"node* " + a:                             "want HOST:PORT",
		"node*:x " + a:                           "want HOST:PORT",
		"node\\*:7 " + a:                         "cannot stand",
		"node7:1 " + a + "\nNODE7:1 " + b:        "line 2: NODE7:1 has another key",
		"*:1 " + a + "\n*:2 " + b + "\n*:1 " + b: "line 3: *:1 has another key",
	} {
		_, err := ParseServers([]byte(text))
		assert.ErrorContains(t, err, says, text)
	}
}

func TestPrivateKeysDoNotShow(t *testing.T) {
	key := privateOf(t, "x")
	secret := strings.Fields(key.Text())
	source := IdentitySource{PrivateFile: "name", Private: key.pair.Private}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		for _, one := range []any{key, *key, Config{Identity: &Identity{Private: key}}, Identity{Private: key}, source, &source} {
			text := fmt.Sprintf(verb, one)
			assert.NotContains(t, text, secret[len(secret)-1])
			assert.NotContains(t, text, fmt.Sprint(key.pair.Private[:4])[1:8])
			assert.NotContains(t, text, fmt.Sprintf("%x", key.pair.Private[:4]))
		}
		assert.Contains(t, fmt.Sprintf(verb, source), "name")
	}
	for _, one := range []any{key, source, Identity{Private: key}} {
		text, err := json.Marshal(one)
		require.NoError(t, err)
		assert.NotContains(t, string(text), secret[len(secret)-1])
	}
}
