// Package certtest makes authorities and certificates of users for tests, good ones and bad ones.
package certtest

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/usercert"
)

// keyBits is the smallest accepted length, so that tests do not wait for primes.
const keyBits = 1024

// CA is an authority with its files.
type CA struct {
	Cert              *x509.Certificate
	Key               *credential.Key
	CertFile, KeyFile string

	serial int64
}

// New makes an authority. Its files exist until the end of the test.
func New(tb testing.TB, name string) *CA {
	tb.Helper()
	ca := &CA{Key: NewKey(tb)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{Organization: []string{"Example"}, CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(240 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &ca.Key.RSA().PublicKey, ca.Key.RSA())
	check(tb, err)
	ca.Cert, err = x509.ParseCertificate(der)
	check(tb, err)
	dir := tb.TempDir()
	ca.CertFile, ca.KeyFile = filepath.Join(dir, "ca.pem"), filepath.Join(dir, "ca-key.pem")
	check(tb, os.WriteFile(ca.CertFile, PEM(der), 0o600))
	check(tb, os.WriteFile(ca.KeyFile, ca.Key.Private(), 0o600))
	return ca
}

// NewKey makes a user's key.
func NewKey(tb testing.TB) *credential.Key {
	tb.Helper()
	key, err := credential.GenerateKey(keyBits)
	check(tb, err)
	return key
}

// PEM is a certificate in the format of files.
func PEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// Sign signs a user's certificate with a common name. change may modify it before.
func (ca *CA) Sign(tb testing.TB, name string, key *credential.Key, change func(*x509.Certificate)) []byte {
	tb.Helper()
	ca.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1 + ca.serial), Subject: pkix.Name{Country: []string{"US"}, Organization: []string{"OrangeFS"}, CommonName: name},
		NotBefore: ca.Cert.NotBefore, NotAfter: ca.Cert.NotAfter, BasicConstraintsValid: true,
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.Cert, &key.RSA().PublicKey, ca.Key.RSA())
	check(tb, err)
	return der
}

// User makes a user's key and certificate.
func (ca *CA) User(tb testing.TB, name string, change func(*x509.Certificate)) *usercert.Certificate {
	tb.Helper()
	key := NewKey(tb)
	cert, err := usercert.New(ca.Sign(tb, name, key, change), key)
	check(tb, err)
	return cert
}

// Authority reads the files.
func (ca *CA) Authority(tb testing.TB) *usercert.Authority {
	tb.Helper()
	a, err := usercert.ReadAuthority(ca.CertFile, ca.KeyFile)
	check(tb, err)
	return a
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("certtest: %v", err)
	}
}
