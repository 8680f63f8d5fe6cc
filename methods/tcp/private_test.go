package tcp_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/tcp"
)

// secretFile is a file with a secret.
func secretFile(t *testing.T, secret string) string {
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(secret), 0o600))
	return path
}

// TestPrivate: tcps takes its secret from the environment, or from its options, and two
// endpoints with the same secret can communicate.
func TestPrivate(t *testing.T) {
	_, err := bmi.Open(context.Background(), bmi.Config{Methods: []string{"tcps"}})
	require.ErrorContains(t, err, "no key is given: set VIADUCT_TLS_SECRET")

	secret, another := secretFile(t, "this secret has thirty-two letters"), secretFile(t, "that secret has thirty-two letters, too")
	open := func(opts tcp.Options) *node {
		return openConfig(t, bmi.Config{Listen: []string{"tcps://127.0.0.1:0"}, Options: map[string]any{"tcps": opts}})
	}
	a := open(tcp.Options{TLS: tcp.TLS{Secret: secret}})
	stranger := open(tcp.Options{TLS: tcp.TLS{Secret: another}})
	t.Setenv("VIADUCT_TLS_SECRET", secret)
	b := open(tcp.Options{})

	toB := b.ep.Addresses()[0]
	require.NoError(t, a.c.SendUnexpected(bounded(t), a.lookup(toB), 0, 7, []byte("hello")))
	var out [1]bmi.Unexpected
	n, err := b.ep.TestUnexpected(out[:], patience)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	assert.Equal(t, "hello", string(out[0].Data))
	out[0].Release()

	require.ErrorIs(t, stranger.c.SendUnexpected(bounded(t), stranger.lookup(toB), 0, 7, []byte("let me in")), bmi.ErrRefused)
}
