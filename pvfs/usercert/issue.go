package usercert

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/pvfs/credential"
)

// Wish is a request for a certificate.
type Wish struct {
	Name   string // the common name
	Key    *rsa.PublicKey
	Prefix pkix.RDNSequence // part of the subject before the common name
	Valid  time.Duration    // upper limit; a certificate never outlives the authority's own
}

// ErrNoKey is for an authority without its private key.
var ErrNoKey = errors.New("usercert: the authority has no private key here, so it issues no certificates")

const (
	serialBits = 128
	// issuedBefore is how long before now a certificate becomes valid, because the clocks of servers may differ by that much.
	issuedBefore = 10 * time.Minute
)

// Issue signs a certificate in DER, with SHA-256 and a random serial number.
func (a *Authority) Issue(w Wish, now time.Time) ([]byte, error) {
	if a.key == nil {
		return nil, ErrNoKey
	}
	if err := CheckName(w.Name); err != nil {
		return nil, fmt.Errorf("usercert: %w", err)
	}
	if err := credential.CheckPublic(w.Key); err != nil {
		return nil, err
	}
	subject, err := asn1.Marshal(append(slices.Clip(w.Prefix), pkix.RelativeDistinguishedNameSET{{Type: commonName, Value: w.Name}}))
	if err != nil {
		return nil, fmt.Errorf("usercert: the subject: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, err
	}
	cert := &x509.Certificate{
		SerialNumber: serial.Add(serial, big.NewInt(1)), // 0 is not allowed
		RawSubject:   subject,
		NotBefore:    latest(now.Add(-issuedBefore), a.cert.NotBefore),
		NotAfter:     earliest(now.Add(w.Valid), a.cert.NotAfter),
		KeyUsage:     x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		SignatureAlgorithm: x509.SHA256WithRSA,
	}
	if !cert.NotAfter.After(now) {
		return nil, fmt.Errorf("%w: that of the authority ends %v", ErrExpired, a.cert.NotAfter)
	}
	return x509.CreateCertificate(rand.Reader, cert, a.cert, w.Key, a.key)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
