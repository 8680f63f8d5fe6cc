package usercert

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // stock servers sign certificates with it
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/keyfile"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
)

// fileBytesMax limits a file with a certificate.
const fileBytesMax = 1 << 20

// certBytesMax limits a certificate in a credential.
const certBytesMax = 8192

// Errors of Verify.
var (
	ErrMissing    = errors.New("the credential has no certificate")
	ErrForeign    = errors.New("the certificate is not signed by the authority of the file system")
	ErrExpired    = errors.New("the certificate is not valid at this time")
	ErrUnsuitable = errors.New("the certificate is none of a user")
)

// ErrFile: a file has wrong contents, or other users can read or write it although they must not.
var ErrFile = credential.ErrFile

// Authority is the authority that signs certificates of users. It may be used by any goroutine.
type Authority struct {
	cert   *x509.Certificate
	public *rsa.PublicKey
	key    *rsa.PrivateKey // nil: it only verifies
}

// Fingerprint is a text that only the same certificate has. Nil has one, too.
func (a *Authority) Fingerprint() string {
	if a == nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(a.cert.Raw))
}

// User is the user of a certificate.
type User struct {
	Subject  Subject
	Key      *rsa.PublicKey
	NotAfter time.Time
	// Authority: this is the certificate of the authority itself. The owner of its key is root, as for OrangeFS.
	Authority bool
}

// ReadAuthority reads the certificate of an authority and, unless keyFile is "", its private key. Others must not be able to
// write the certificate or to read the key. ErrFile.
func ReadAuthority(certFile, keyFile string) (*Authority, error) {
	text, err := keyfile.Trusted(certFile, fileBytesMax)
	if err != nil {
		return nil, fileError(err)
	}
	a, err := ParseAuthority(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", certFile, err)
	}
	if keyFile == "" {
		return a, nil
	}
	key, err := credential.ReadKey(keyFile)
	if err != nil {
		return nil, err
	}
	if err := a.own(key); err != nil {
		return nil, fmt.Errorf("%s: %w", keyFile, err)
	}
	return a, nil
}

// ParseAuthority parses the certificate of an authority in PEM. ErrFile.
func ParseAuthority(text []byte) (*Authority, error) {
	cert, err := parseOne(text)
	if err != nil {
		return nil, err
	}
	public, ok := cert.PublicKey.(*rsa.PublicKey)
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: the key of the certificate is not for RSA, which OrangeFS's requests need", ErrFile)
	case !cert.BasicConstraintsValid || !cert.IsCA:
		return nil, fmt.Errorf("%w: the certificate is none of an authority (it needs basicConstraints CA:TRUE)", ErrFile)
	case cert.KeyUsage != 0 && cert.KeyUsage&x509.KeyUsageCertSign == 0:
		return nil, fmt.Errorf("%w: the certificate must not sign others (its keyUsage lacks keyCertSign)", ErrFile)
	case limitsNames(cert) || len(cert.UnhandledCriticalExtensions) > 0:
		return nil, fmt.Errorf("%w: the certificate has name constraints or critical extensions that are not enforced here", ErrFile)
	}
	return &Authority{cert: cert, public: public}, credential.CheckPublic(public)
}

// limitsNames reports whether a certificate limits the names for which its holder may sign.
func limitsNames(c *x509.Certificate) bool {
	return len(c.PermittedDNSDomains)+len(c.ExcludedDNSDomains)+len(c.PermittedIPRanges)+len(c.ExcludedIPRanges)+
		len(c.PermittedEmailAddresses)+len(c.ExcludedEmailAddresses)+len(c.PermittedURIDomains)+len(c.ExcludedURIDomains) > 0
}

// parseOne parses the only certificate of a text in PEM.
func parseOne(text []byte) (*x509.Certificate, error) {
	var found *x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue // a key, or another block
		}
		if found != nil {
			return nil, fmt.Errorf("%w: there is more than one certificate in it", ErrFile)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFile, err)
		}
		found = cert
	}
	if found == nil {
		return nil, fmt.Errorf("%w: there is no certificate in PEM in it", ErrFile)
	}
	return found, nil
}

// own gives the authority its private key.
func (a *Authority) own(key *credential.Key) error {
	if !key.RSA().PublicKey.Equal(a.public) {
		return fmt.Errorf("%w: it is not the key of the authority's certificate", ErrFile)
	}
	a.key = key.RSA()
	return nil
}

// Issues reports whether the authority has its private key and can issue certificates.
func (a *Authority) Issues() bool { return a.key != nil }

// NotAfter is the end of validity of the authority's own certificate.
func (a *Authority) NotAfter() time.Time { return a.cert.NotAfter }

// Verify parses a certificate in DER and returns its user, if this authority itself signed it and it is valid now. Errors:
// ErrMissing, ErrForeign, ErrExpired, ErrUnsuitable.
func (a *Authority) Verify(der []byte, now time.Time) (*User, error) {
	if len(der) == 0 {
		return nil, ErrMissing
	}
	if !validAt(a.cert, now) {
		return nil, fmt.Errorf("%w: that of the authority ends %v", ErrExpired, a.cert.NotAfter)
	}
	if bytes.Equal(der, a.cert.Raw) {
		return &User{Key: a.public, NotAfter: a.cert.NotAfter, Authority: true}, nil
	}
	cert, err := parse(der)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(cert.RawIssuer, a.cert.RawSubject) || a.signed(cert) != nil {
		return nil, ErrForeign
	}
	u, err := userOf(cert)
	if err != nil {
		return nil, err
	}
	if !validAt(cert, now) {
		return nil, fmt.Errorf("%w: it is from %v until %v", ErrExpired, cert.NotBefore, cert.NotAfter)
	}
	return u, nil
}

func validAt(c *x509.Certificate, now time.Time) bool {
	return !now.Before(c.NotBefore) && !now.After(c.NotAfter)
}

// signed checks that the authority signed a certificate. Stock servers sign with SHA-1, which package x509 refuses.
func (a *Authority) signed(c *x509.Certificate) error {
	if c.SignatureAlgorithm == x509.SHA1WithRSA {
		digest := sha1.Sum(c.RawTBSCertificate) //nolint:gosec // see above
		return rsa.VerifyPKCS1v15(a.public, crypto.SHA1, digest[:], c.Signature)
	}
	return a.cert.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature)
}

// parse parses a certificate in DER.
func parse(der []byte) (*x509.Certificate, error) {
	if len(der) > certBytesMax {
		return nil, fmt.Errorf("%w: it has %d bytes, more than %d", ErrUnsuitable, len(der), certBytesMax)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsuitable, err)
	}
	return cert, nil
}

// userOf is the user of a certificate. It does not check the signature.
func userOf(cert *x509.Certificate) (*User, error) {
	key, ok := cert.PublicKey.(*rsa.PublicKey)
	switch {
	case cert.IsCA:
		return nil, fmt.Errorf("%w: it is of another authority", ErrUnsuitable)
	case !ok:
		return nil, fmt.Errorf("%w: its key is not for RSA", ErrUnsuitable)
	case len(cert.UnhandledCriticalExtensions) > 0:
		return nil, fmt.Errorf("%w: it has a critical extension that is not known here: %v", ErrUnsuitable, cert.UnhandledCriticalExtensions[0])
	}
	if err := credential.CheckPublic(key); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsuitable, err)
	}
	subject, err := parseSubject(cert.RawSubject)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnsuitable, err)
	}
	return &User{Subject: subject, Key: key, NotAfter: cert.NotAfter}, nil
}

// fileError turns the error about an unsafe file into one of this package.
func fileError(err error) error {
	if errors.Is(err, keyfile.ErrUnsafe) {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	return err
}
