package tcp_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// TestReloadKeys: after its file has changed, an endpoint accepts the new key and no longer the old one; connections stay. A file
// with an error changes nothing.
func TestReloadKeys(t *testing.T) {
	const first, second = "the first of two passphrases", "the second of two passphrases"
	file := filepath.Join(t.TempDir(), "key")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	open := func(secret string) *node {
		return openConfig(t, bmi.Config{Listen: []string{"tcps://127.0.0.1:0"}, Options: map[string]any{"tcps": tcp.Options{TLS: tcp.TLS{Secret: secret}}}})
	}
	write(first)
	server := open(file)
	at := server.ep.Addresses()[0]
	early, late := open(secretFile(t, first)), open(secretFile(t, first))
	modern := open(secretFile(t, second))
	send := func(n *node) error { return n.c.SendUnexpected(bounded(t), n.lookup(at), 0, 7, []byte("hello")) }
	require.NoError(t, send(early))
	require.ErrorIs(t, send(modern), bmi.ErrRefused)

	write("short")
	methods, err := server.ep.ReloadKeys()
	assert.Empty(t, methods)
	require.ErrorContains(t, err, "the keys of tcps are as before")
	require.ErrorContains(t, err, "too short")
	require.ErrorIs(t, send(modern), bmi.ErrRefused)

	write(second)
	methods, err = server.ep.ReloadKeys()
	require.NoError(t, err)
	assert.Equal(t, []string{"tcps"}, methods)
	require.NoError(t, send(early), "it is connected")
	require.ErrorIs(t, send(late), bmi.ErrRefused)
	require.NoError(t, send(modern))
}

// TestReloadWithoutKeys: plain tcp has nothing to read.
func TestReloadWithoutKeys(t *testing.T) {
	n := openConfig(t, bmi.Config{Listen: []string{"tcp://127.0.0.1:0"}})
	methods, err := n.ep.ReloadKeys()
	require.NoError(t, err)
	assert.Empty(t, methods)
}
