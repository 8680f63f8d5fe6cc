package secure

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// authority is a CA that lives as long as a test.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	var der []byte
	a.key, der = a.sign(template)
	var err error
	a.cert, err = x509.ParseCertificate(der)
	require.NoError(t, err)
	a.file = a.write("ca.pem", "CERTIFICATE", der)
	return a
}

// sign makes a key and a certificate for it.
func (a *authority) sign(template *x509.Certificate) (*ecdsa.PrivateKey, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(a.t, err)
	return key, der
}

func (a *authority) write(name, kind string, der []byte) string {
	file := filepath.Join(a.dir, name)
	require.NoError(a.t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return file
}

// issue makes the files of an endpoint; change may spoil the certificate.
func (a *authority) issue(change func(*x509.Certificate)) Files {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "endpoint"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:    []string{"storage.example"}, IPAddresses: []net.IP{net.IPv4(192, 0, 2, 1)},
	}
	if change != nil {
		change(template)
	}
	key, der := a.sign(template)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	return Files{Cert: a.write("cert.pem", "CERTIFICATE", der), Key: a.write("key.pem", "PRIVATE KEY", raw), CA: a.file}
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

// secretConfig is the configuration of a shared key; another letter is another
// key.
func secretConfig(t testing.TB, letter string) *Config {
	t.Helper()
	cfg, err := fromSecret([]byte(strings.Repeat(letter, SecretBytesMin)))
	require.NoError(t, err)
	return cfg
}
