package mpi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/pmi"
)

// clearKeys removes all keys from the environment.
func clearKeys(t *testing.T) {
	for _, env := range udpKeyEnvs {
		t.Setenv(env, "")
	}
}

// aSpy is a method that opens nothing, but records the environment.
type aSpy struct{ saw []string }

var errSpied = errors.New("nothing to open here")

func (s *aSpy) Name() string { return "spy" }

func (s *aSpy) Open(context.Context, bmi.MethodConfig) (bmi.Method, error) {
	s.saw = os.Environ()
	return nil, errSpied
}

// openUDP opens an endpoint of via+udp.
func openUDP(t *testing.T, secret []byte) (*bmi.Endpoint, error) {
	pl, err := forced(methodUDP)
	require.NoError(t, err)
	ep, err := pl.open(t.Context(), bmi.Config{}, "x", loopback, secret)
	if err == nil {
		t.Cleanup(func() { assert.NoError(t, ep.Close()) })
	}
	return ep, err
}

// say sends a message from one endpoint to another.
func say(t *testing.T, from, to *bmi.Endpoint) error {
	addr, err := from.Lookup(to.Addresses()[0])
	require.NoError(t, err)
	c, err := from.OpenContext()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return c.SendUnexpected(ctx, addr, 0, 1, []byte("hello"))
}

// TestKeyIsNotInTheEnvironment: processes that are started while an endpoint is opened do not
// inherit the job's key.
func TestKeyIsNotInTheEnvironment(t *testing.T) {
	clearKeys(t)
	spy := &aSpy{}
	require.NoError(t, bmi.Add(spy))
	defer bmi.Remove(spy)
	secret := bytes.Repeat([]byte{0xab, 0xcd}, 16)
	pl, err := forced("via+udp,spy")
	require.NoError(t, err)
	_, err = pl.open(t.Context(), bmi.Config{}, "x", loopback, secret)
	require.ErrorIs(t, err, errSpied)
	require.NotEmpty(t, spy.saw)
	all := strings.ToLower(strings.Join(spy.saw, "\n"))
	assert.False(t, strings.Contains(all, hex.EncodeToString(secret))) // does not print the environment
}

// TestForgetKey removes the job's key from the environment, and keeps the variables that the user set.
func TestForgetKey(t *testing.T) {
	clearKeys(t)
	secret := bytes.Repeat([]byte{0xab}, 32)
	text := hex.EncodeToString(secret)
	for env, value := range map[string]string{"VIADUCT_UDP_KEY": "mine", "VIADUCT_UDP_KEY_FILE": text, "VIADUCT_UDP_INSECURE": "1"} {
		t.Setenv(env, value)
		forgetKey(secret)
		assert.Equal(t, value, os.Getenv(env))
	}
	t.Setenv("VIADUCT_UDP_KEY", text)
	forgetKey(nil)
	assert.Equal(t, text, os.Getenv("VIADUCT_UDP_KEY"))
	forgetKey(secret)
	_, there := os.LookupEnv("VIADUCT_UDP_KEY")
	assert.False(t, there)
}

// TestKeyFormats: a job's key and that of via+udp take the same texts, so processes that have the same text in any of the
// variables reach each other.
func TestKeyFormats(t *testing.T) {
	raw := bytes.Repeat([]byte{0xfb, 0xef, 7, 8}, 8) // in base64, it has characters that differ between the two alphabets
	for _, same := range [][]string{
		{hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)), base64.StdEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw)},
		{"correct horse battery staple"},
	} {
		var all []*bmi.Endpoint
		for _, text := range same {
			file := filepath.Join(t.TempDir(), "key")
			require.NoError(t, os.WriteFile(file, []byte(text+"\n"), 0o600))
			for env, value := range map[string]string{pmi.KeyEnv: text, pmi.KeyFileEnv: file, "VIADUCT_UDP_KEY": text, "VIADUCT_UDP_KEY_FILE": file} {
				clearKeys(t)
				t.Setenv(pmi.KeyEnv, "")
				t.Setenv(pmi.KeyFileEnv, "")
				t.Setenv(env, value)
				secret, err := pmi.Secret(os.Getenv)
				require.NoError(t, err, env)
				ep, err := openUDP(t, secret)
				require.NoError(t, err, env)
				all = append(all, ep)
			}
		}
		for _, ep := range all[1:] {
			require.NoError(t, say(t, ep, all[0]))
		}
	}
}

// TestKeyOfTheJob: only processes with the job's key can connect. The user's variables take
// precedence over it.
func TestKeyOfTheJob(t *testing.T) {
	clearKeys(t)
	assert.False(t, udpKeyed(nil))
	_, err := openUDP(t, nil)
	require.ErrorContains(t, err, "VIADUCT_UDP_KEY_FILE")

	secret, other := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	assert.True(t, udpKeyed(secret))
	a, err := openUDP(t, secret)
	require.NoError(t, err)
	b, err := openUDP(t, secret)
	require.NoError(t, err)
	require.NoError(t, say(t, a, b))
	stranger, err := openUDP(t, other)
	require.NoError(t, err)
	require.ErrorIs(t, say(t, stranger, a), bmi.ErrRefused)

	t.Setenv("VIADUCT_UDP_KEY", hex.EncodeToString(other))
	assert.True(t, udpKeyed(nil))
	friend, err := openUDP(t, secret)
	require.NoError(t, err)
	require.NoError(t, say(t, friend, stranger))
	t.Setenv("VIADUCT_UDP_KEY", "")
	t.Setenv("VIADUCT_UDP_INSECURE", "1")
	open, err := openUDP(t, secret)
	require.NoError(t, err)
	require.ErrorIs(t, say(t, open, a), bmi.ErrRefused)
}
