package via_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/wallclock"
	"github.com/viaduct-hpc/viaduct/methods/via"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// greet sends a message to an address and returns the error.
func greet(t *testing.T, from *bmi.Endpoint, to string) error {
	t.Helper()
	addr, err := from.Lookup(to)
	require.NoError(t, err)
	c, err := from.OpenContext()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), wallclock.Patience)
	defer cancel()
	return c.SendUnexpected(ctx, addr, 0, 1, []byte("hello"))
}

// TestUDPReloadKeys: after its file has changed, an endpoint accepts the new key and no longer the old one; connections stay. A
// file with an error changes nothing.
func TestUDPReloadKeys(t *testing.T) {
	const first, second = "the first of two passphrases", "the second of two passphrases"
	file := filepath.Join(t.TempDir(), "key")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	t.Setenv("VIADUCT_UDP_KEY_FILE", file)
	write(first)
	server, _ := openKeyed(t, insecureEnv+"=")
	at := server.Addresses()[0]
	t.Setenv("VIADUCT_UDP_KEY_FILE", "")
	early, _ := openKeyed(t, keyEnv+"="+first)
	late, _ := openKeyed(t, keyEnv+"="+first)
	modern, _ := openKeyed(t, keyEnv+"="+second)
	require.NoError(t, greet(t, early, at))
	require.ErrorIs(t, greet(t, modern, at), bmi.ErrRefused)

	t.Setenv("VIADUCT_UDP_KEY_FILE", file)
	t.Setenv(keyEnv, "")
	write("short")
	methods, err := server.ReloadKeys()
	assert.Empty(t, methods)
	require.ErrorContains(t, err, "the keys of via+udp are as before")
	require.ErrorIs(t, greet(t, modern, at), bmi.ErrRefused)

	write(second)
	methods, err = server.ReloadKeys()
	require.NoError(t, err)
	assert.Equal(t, []string{"via+udp"}, methods)
	require.NoError(t, greet(t, early, at), "it is connected")
	require.ErrorIs(t, greet(t, late, at), bmi.ErrRefused)
	require.NoError(t, greet(t, modern, at))

	t.Setenv("VIADUCT_UDP_KEY_FILE", "")
	t.Setenv(keyEnv, second)
	methods, err = server.ReloadKeys()
	require.NoError(t, err)
	assert.Empty(t, methods, "there is no file to read")
}

// TestUDPReloadClients: a client that is taken off the list is refused when it connects next, and one that is added is accepted.
func TestUDPReloadClients(t *testing.T) {
	_, alice := staticKey(t, "alice")
	_, bob := staticKey(t, "bob")
	file := filepath.Join(t.TempDir(), "clients")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	write("alice " + alice)
	private, _ := staticKey(t, "bob")
	server, _ := openAs(t, "127.0.0.1:0", via.Options{Identity: &nic.Identity{Private: private, ClientsFile: file}})
	at := server.Addresses()[0]
	open := func(name string) *bmi.Endpoint {
		ep, _ := openAs(t, "", via.Options{Identity: identityOf(t, name)})
		return ep
	}
	require.NoError(t, greet(t, open("alice"), at))
	require.ErrorIs(t, greet(t, open("bob"), at), bmi.ErrRefused)

	write("bob " + bob)
	methods, err := server.ReloadKeys()
	require.NoError(t, err)
	assert.Equal(t, []string{"via+udp"}, methods)
	require.NoError(t, greet(t, open("bob"), at))
	require.ErrorIs(t, greet(t, open("alice"), at), bmi.ErrRefused)
}
