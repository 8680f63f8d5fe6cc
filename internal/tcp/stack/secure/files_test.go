package secure

import (
	"crypto/x509"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/viaduct-hpc/viaduct/internal/sharedkey"
)

func TestFilesErrorsSayWhatToDo(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	good, stranger := ca.issue(nil), other.issue(nil)
	good.Cert = ca.copy(good.Cert, "good-cert.pem", 0o600)
	good.Key = ca.copy(good.Key, "good-key.pem", 0o600)
	secret := secretFile(t, aSecret)
	expired := ca.issue(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	expired.Cert, expired.Key = ca.copy(expired.Cert, "old-cert.pem", 0o600), ca.copy(expired.Key, "old-key.pem", 0o600)
	early := ca.issue(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) })

	with := func(f Files, change func(*Files)) Files { change(&f); return f }
	for name, test := range map[string]struct {
		files Files
		want  string
	}{
		"none":                 {Files{}, "no key is given: set VIADUCT_TLS_SECRET"},
		"both":                 {with(good, func(f *Files) { f.Secret = secret }), "choose one"},
		"name with a secret":   {Files{Secret: secret, ServerName: "x"}, "choose one"},
		"no such secret":       {Files{Secret: filepath.Join(ca.Dir, "nothing")}, "no such file"},
		"secret is a folder":   {Files{Secret: ca.Dir}, "not a regular file"},
		"secret for others":    {Files{Secret: ca.copy(secret, "open", 0o640)}, "chmod 600"},
		"short secret":         {Files{Secret: secretFile(t, "  fifteen letters\n")}, "15 characters are too short"},
		"empty secret":         {Files{Secret: secretFile(t, " \n")}, "0 characters are too short"},
		"a digit is missing":   {Files{Secret: secretFile(t, aSecret[1:])}, "63 hexadecimal digits"},
		"key, not its file":    {Files{Secret: aSecret}, "put it into a file"},
		"secret is long":       {Files{Secret: secretFile(t, strings.Repeat("s", FileBytesMax+1))}, "longer than"},
		"certificate alone":    {Files{Cert: good.Cert}, "a private key is missing (VIADUCT_TLS_KEY)"},
		"key alone":            {Files{Key: good.Key}, "a certificate is missing (VIADUCT_TLS_CERT)"},
		"no CA":                {with(good, func(f *Files) { f.CA = "" }), "a CA is missing (VIADUCT_TLS_CA)"},
		"name alone":           {Files{ServerName: "x"}, "no key is given"},
		"no such certificate":  {with(good, func(f *Files) { f.Cert += "x" }), "no such file"},
		"no such key":          {with(good, func(f *Files) { f.Key += "x" }), "no such file"},
		"no such CA":           {with(good, func(f *Files) { f.CA += "x" }), "no such file"},
		"key for others":       {with(good, func(f *Files) { f.Key = ca.copy(good.Key, "open.pem", 0o604) }), "chmod 600"},
		"another one's key":    {with(good, func(f *Files) { f.Key = stranger.Key }), "private key does not match"},
		"no PEM":               {with(good, func(f *Files) { f.Cert = secret }), "PEM"},
		"CA is no PEM":         {with(good, func(f *Files) { f.CA = secret }), "no certificate in PEM form"},
		"another CA's":         {with(good, func(f *Files) { f.CA = other.File }), "did not sign it"},
		"expired certificate":  {expired, "expired on"},
		"certificate to be":    {early, "check the clock"},
		"key, but certificate": {with(good, func(f *Files) { f.Key = good.Cert }), "private key"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := test.files.Load()
			require.Error(t, err)
			assert.Nil(t, cfg)
			assert.True(t, strings.HasPrefix(err.Error(), "secure: "), "%s", err)
			assert.Contains(t, err.Error(), test.want)
		})
	}
	_, err := good.Load()
	require.NoError(t, err)
	_, err = Files{Secret: secret}.Load()
	require.NoError(t, err)
}

// copy makes a file of another one with other rights.
func (a *authority) copy(file, name string, mode os.FileMode) string {
	text, err := os.ReadFile(file)
	require.NoError(a.t, err)
	to := filepath.Join(a.Dir, name)
	require.NoError(a.t, os.WriteFile(to, text, mode))
	require.NoError(a.t, os.Chmod(to, mode))
	return to
}

func TestFromEnv(t *testing.T) {
	for _, name := range []string{EnvCert, EnvKey, EnvCA, EnvSecret, EnvServerName} {
		t.Setenv(name, "")
	}
	_, err := FromEnv()
	require.ErrorContains(t, err, "no key is given")
	t.Setenv(EnvSecret, secretFile(t, aSecret))
	cfg, err := FromEnv()
	require.NoError(t, err)
	assert.True(t, cfg.shared)
	files := newAuthority(t).issue(nil)
	t.Setenv(EnvCert, files.Cert)
	_, err = FromEnv()
	require.ErrorContains(t, err, "choose one")
	t.Setenv(EnvSecret, "")
	t.Setenv(EnvKey, files.Key)
	t.Setenv(EnvCA, files.CA)
	cfg, err = FromEnv()
	require.NoError(t, err)
	assert.False(t, cfg.shared)
}

func TestErrorsDoNotShowTheSecret(t *testing.T) {
	_, err := Files{Secret: secretFile(t, "hunter2")}.Load()
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "hunter2")
}

// TestSpellingsOfASecret: two sides with the same key connect, even if their files have different
// formats.
func TestSpellingsOfASecret(t *testing.T) {
	key, ok := sharedkey.Decode([]byte(aSecret))
	require.True(t, ok)
	a, err := Files{Secret: secretFile(t, aSecret)}.Load()
	require.NoError(t, err)
	for _, text := range []string{"\n " + aSecret + "\r\n", base64.StdEncoding.EncodeToString(key[:]) + "\n", base64.RawURLEncoding.EncodeToString(key[:])} {
		b, err := Files{Secret: secretFile(t, text)}.Load()
		require.NoError(t, err)
		n := newNetwork(1)
		join(t, newSide(t, n.stack(), a), newSide(t, n.stack(), b))
	}
}

func TestOverWithoutAConfiguration(t *testing.T) {
	for _, cfg := range []*Config{nil, {}} {
		_, err := Over(newNetwork(1).stack(), cfg)
		require.ErrorContains(t, err, "Files.Load")
	}
}
