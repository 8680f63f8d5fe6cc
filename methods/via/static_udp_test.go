package via_test

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/logtext"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// staticKey is the key pair that a name has in tests: the private key, and the public one as files have it.
func staticKey(t *testing.T, name string) (nic.Key, string) {
	raw := sha256.Sum256([]byte(name))
	private, err := ecdh.X25519().NewPrivateKey(raw[:])
	require.NoError(t, err)
	return raw[:], base64.StdEncoding.EncodeToString(private.PublicKey().Bytes())
}

// identityOf knows alice and bob as clients, and bob as every server.
func identityOf(t *testing.T, name string) *nic.Identity {
	_, alice := staticKey(t, "alice")
	_, bob := staticKey(t, "bob")
	private, _ := staticKey(t, name)
	return &nic.Identity{Private: private, Clients: "alice " + alice + "\nbob " + bob, Servers: "* " + bob}
}

// openAs opens an endpoint with options of via+udp; it listens if listen is set.
func openAs(t *testing.T, listen string, o via.Options) (*bmi.Endpoint, *logtext.Buffer) {
	t.Helper()
	log := &logtext.Buffer{}
	cfg := bmi.Config{Log: slog.New(slog.NewTextHandler(log, nil)), Methods: []string{"via+udp"}, Options: map[string]any{"via+udp": o}}
	if listen != "" {
		cfg.Listen = []string{"via+udp://" + listen}
	}
	ep, err := bmi.Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ep.Close()) })
	return ep, log
}

// TestIdentityOption: with identities in the options, both sides know each other by name. The environment is ignored.
func TestIdentityOption(t *testing.T) {
	t.Setenv(keyEnv, "wrong horse battery staple")
	t.Setenv(insecureEnv, "1") // each of these, and both together, would be an error
	shared := nic.Key(bytes.Repeat([]byte{0xab}, nic.KeyBytes))
	for name, key := range map[string]nic.Key{"static": nil, "both": shared} {
		t.Run(name, func(t *testing.T) {
			server, _ := openAs(t, "127.0.0.1:0", via.Options{Identity: identityOf(t, "bob"), Key: key})
			client, _ := openAs(t, "", via.Options{Identity: identityOf(t, "alice"), Key: key})
			from := caller(t, client, server, server.Addresses()[0])
			assert.Equal(t, "alice", server.AuthenticatedName(from))
			assert.True(t, strings.HasPrefix(from.String(), "via+udp://~alice@127.0.0.1:"), from)
			assert.Equal(t, "127.0.0.1", server.SourceAddr(from).Addr().String())
			to, err := client.Lookup(server.Addresses()[0])
			require.NoError(t, err)
			assert.Equal(t, "bob", client.AuthenticatedName(to))
			stranger, err := server.Lookup("via+udp://127.0.0.1:9")
			require.NoError(t, err)
			assert.Empty(t, server.AuthenticatedName(stranger), "nobody is connected there")
		})
	}
}

// TestStrangersWithIdentities: both sides get the reason why there is no connection, and the listener counts the refusal.
func TestStrangersWithIdentities(t *testing.T) {
	_, strange := staticKey(t, "stranger")
	shared := nic.Key(bytes.Repeat([]byte{0xab}, nic.KeyBytes))
	for name, c := range map[string]struct {
		asks         via.Options
		listens      via.Options
		told, logged string
	}{
		"unknown key": {
			via.Options{Identity: identityOf(t, "stranger")}, via.Options{Identity: identityOf(t, "bob")},
			"our key is not in its list of clients: let its owner add a line with a name and our public key " + strange,
			"add a line with its name and its public key " + strange + " (see VIADUCT_UDP_CLIENTS_FILE)",
		},
		"another server": {
			via.Options{Identity: identityOf(t, "alice")}, via.Options{Identity: identityOf(t, "stranger")},
			"it does not have the key that is in our list of servers (see VIADUCT_UDP_SERVERS_FILE)", "its list of servers has a wrong public key for this side",
		},
		"shared key here": {
			via.Options{Key: shared}, via.Options{Identity: identityOf(t, "bob")},
			"this side has a shared key, the other one has a key of its own: give both the same kind of keys (see VIADUCT_UDP_KEY_FILE and VIADUCT_UDP_PRIVATE_KEY_FILE)",
			"this side has a key of its own, the other one has a shared key",
		},
		"shared key there": {
			via.Options{Identity: identityOf(t, "alice")}, via.Options{Key: shared},
			"this side has a key of its own, the other one has a shared key", "this side has a shared key, the other one has a key of its own",
		},
		"no shared key": {
			via.Options{Identity: identityOf(t, "alice")}, via.Options{Identity: identityOf(t, "bob"), Key: shared},
			"the other one has a key of its own and a shared key", "this side has a key of its own and a shared key",
		},
	} {
		t.Run(name, func(t *testing.T) {
			listener, log := openAs(t, "127.0.0.1:0", c.listens)
			asker, _ := openAs(t, "", c.asks)
			err := refusedBy(t, asker, listener.Addresses()[0])
			require.ErrorIs(t, err, bmi.ErrRefused)
			require.ErrorContains(t, err, c.told)
			require.Contains(t, log.String(), c.logged)
			require.NotZero(t, refusals(listener))
		})
	}
	alone := identityOf(t, "alice")
	alone.Servers = ""
	asker, _ := openAs(t, "", via.Options{Identity: alone})
	err := refusedBy(t, asker, "via+udp://127.0.0.1:9")
	require.ErrorIs(t, err, bmi.ErrRefused)
	require.ErrorContains(t, err, "have none for 127.0.0.1:9: add a line with this address and its public key (see VIADUCT_UDP_SERVERS_FILE)")
}

// TestAddressesOfOthers: a client that listens, and gives itself the address of another endpoint, gets nothing that is meant for that one.
func TestAddressesOfOthers(t *testing.T) {
	_, bob := staticKey(t, "bob")
	_, carol := staticKey(t, "carol")
	with := func(name, servers string) via.Options {
		id := identityOf(t, name)
		id.Clients += "\ncarol " + carol
		id.Servers = servers
		return via.Options{Identity: id}
	}
	server, _ := openAs(t, "127.0.0.1:0", via.Options{Identity: identityOf(t, "bob")})
	at := server.Addresses()[0]
	host := strings.TrimPrefix(at, "via+udp://")

	// Carol's own address is known at the other server, which takes her for the endpoint there.
	carolAt, _ := openAs(t, "127.0.0.1:0", with("carol", "* "+bob))
	name := carolAt.Addresses()[0]
	other, _ := openAs(t, "127.0.0.1:0", with("bob", strings.TrimPrefix(name, "via+udp://")+" "+carol+"\n"+host+" "+bob))
	from := caller(t, carolAt, other, other.Addresses()[0])
	assert.Equal(t, name, from.String())
	assert.Equal(t, "carol", other.AuthenticatedName(from))
	require.NoError(t, carolAt.Close())

	// Alice listens there now. Whatever is sent to carol's address does not go to her.
	thief, _ := openAs(t, strings.TrimPrefix(name, "via+udp://"), with("alice", "* "+bob))
	stolen := caller(t, thief, other, other.Addresses()[0])
	assert.True(t, strings.HasPrefix(stolen.String(), "via+udp://~alice@"), stolen)
	assert.Equal(t, "alice", other.AuthenticatedName(stolen))
	assert.Empty(t, other.AuthenticatedName(from))
	ctx, cancel := context.WithTimeout(t.Context(), wallclock.Patience)
	defer cancel()
	c, err := other.OpenContext()
	require.NoError(t, err)
	err = c.SendUnexpected(ctx, from, 0, 1, []byte("for carol"))
	require.ErrorIs(t, err, bmi.ErrRefused, "the connection is made to the key of carol")
	var in [1]bmi.Unexpected
	n, err := thief.TestUnexpected(in[:], time.Millisecond)
	require.NoError(t, err)
	require.Zero(t, n)
}

// TestBadIdentityOption: an invalid identity is an error whose text does not contain its keys.
func TestBadIdentityOption(t *testing.T) {
	_, alice := staticKey(t, "alice")
	for name, id := range map[string]nic.Identity{
		"empty":          {},
		"too short":      {Private: bytes.Repeat([]byte("K"), nic.KeyBytes-1)},
		"zero":           {Private: make([]byte, nic.KeyBytes)},
		"no private key": {Clients: "alice " + alice},
		"both":           {Private: bytes.Repeat([]byte("K"), nic.KeyBytes), PrivateFile: "x"},
		"no list":        {Private: bytes.Repeat([]byte("K"), nic.KeyBytes), Clients: "x"},
	} {
		_, err := openWith(t, "via+udp", "127.0.0.1:0", via.Options{Identity: &id})
		require.ErrorIs(t, err, bmi.ErrInvalid, name)
		assert.NotContains(t, err.Error(), "KKKK")
	}
	id := nic.Identity{Private: bytes.Repeat([]byte("K"), nic.KeyBytes)}
	_, err := openWith(t, "via+udp", "127.0.0.1:0", via.Options{Identity: &id})
	require.ErrorContains(t, err, "VIADUCT_UDP_CLIENTS_FILE", "whoever listens has clients")
	_, err = openWith(t, "via+shm", "identity-option", via.Options{Identity: &id})
	require.ErrorIs(t, err, bmi.ErrInvalid)
}
