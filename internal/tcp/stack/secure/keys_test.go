package secure

import (
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	ca "github.com/viaduct-hpc/viaduct/internal/authority"
	"github.com/viaduct-hpc/viaduct/internal/sharedkey"
)

// authority is a CA that lives as long as a test.
type authority struct {
	*ca.Authority
	t *testing.T
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	return &authority{ca.New(t), t}
}

// issue makes the files of an endpoint; change may spoil the certificate.
func (a *authority) issue(change func(*x509.Certificate)) Files {
	cert, key := a.Issue("endpoint", func(c *x509.Certificate) {
		c.DNSNames, c.IPAddresses = []string{"storage.example"}, []net.IP{net.IPv4(192, 0, 2, 1)}
		if change != nil {
			change(c)
		}
	})
	return Files{Cert: cert, Key: key, CA: a.File}
}

// config loads what issue made.
func (a *authority) config(change func(*x509.Certificate)) *Config {
	cfg, err := a.issue(change).Load()
	require.NoError(a.t, err)
	return cfg
}

// secretFile writes a shared key.
func secretFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// aSecret is the text of a shared key.
var aSecret = strings.Repeat("5eed", sharedkey.Bytes/2)

// secretConfig is the configuration of a shared key; another letter is another
// key.
func secretConfig(t testing.TB, letter string) *Config {
	t.Helper()
	cfg, err := fromSecret(sharedkey.Key([]byte(strings.Repeat(letter, sharedkey.Bytes))))
	require.NoError(t, err)
	return cfg
}
