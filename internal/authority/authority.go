// Package authority makes certificates for tests: an authority, and certificates signed by it, as PEM
// files.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// life is how long before and after now certificates are valid.
const life = time.Hour

// An Authority signs certificates.
type Authority struct {
	Dir  string            // the folder of all files
	File string            // the certificate of the root
	Cert *x509.Certificate // its own

	tb     testing.TB
	key    *ecdsa.PrivateKey
	issued int
}

// New makes an authority. Its files are removed when the test ends.
func New(tb testing.TB) *Authority {
	tb.Helper()
	a := &Authority{tb: tb, Dir: tb.TempDir()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Now().Add(-life), NotAfter: time.Now().Add(life),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, der := a.sign(template)
	cert, err := x509.ParseCertificate(der)
	a.check(err)
	a.key, a.Cert = key, cert
	a.File = a.write("ca.pem", "CERTIFICATE", der)
	return a
}

// Between makes an intermediate authority whose certificate this one signs.
func (a *Authority) Between() *Authority {
	a.tb.Helper()
	key, der := a.sign(&x509.Certificate{
		SerialNumber: a.Cert.SerialNumber, Subject: pkix.Name{CommonName: "between"},
		NotBefore: a.Cert.NotBefore, NotAfter: a.Cert.NotAfter,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	cert, err := x509.ParseCertificate(der)
	a.check(err)
	return &Authority{Dir: a.tb.TempDir(), File: a.File, Cert: cert, tb: a.tb, key: key}
}

// Issue makes a certificate for both sides of a connection, and its key. change may modify the template.
func (a *Authority) Issue(name string, change func(*x509.Certificate)) (certFile, keyFile string) {
	a.tb.Helper()
	a.issued++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(int64(1 + a.issued)), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-life), NotAfter: time.Now().Add(life),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(template)
	}
	key, der := a.sign(template)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	a.check(err)
	return a.write(fmt.Sprintf("cert%d.pem", a.issued), "CERTIFICATE", der), a.write(fmt.Sprintf("key%d.pem", a.issued), "PRIVATE KEY", raw)
}

// sign makes a key and a certificate for it. The first certificate is self-signed.
func (a *Authority) sign(template *x509.Certificate) (*ecdsa.PrivateKey, []byte) {
	a.tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.check(err)
	parent, signer := a.Cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	a.check(err)
	return key, der
}

func (a *Authority) write(name, kind string, der []byte) string {
	a.tb.Helper()
	file := filepath.Join(a.Dir, name)
	a.check(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	return file
}

func (a *Authority) check(err error) {
	a.tb.Helper()
	if err != nil {
		a.tb.Fatalf("authority: %v", err)
	}
}
