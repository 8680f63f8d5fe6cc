package usercert

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	"github.com/viaduct-hpc/viaduct/internal/keyfile"
	"github.com/viaduct-hpc/viaduct/pvfs/credential"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Anybody stands for the user and the group in a credential with a certificate. Servers find them by the certificate's subject.
const Anybody = 0xffffffff

// Certificate is a user's certificate with its private key. It may be used by any goroutine.
type Certificate struct {
	cert *x509.Certificate
	key  *credential.Key
}

// Read reads a certificate and its private key, each in PEM. ErrFile: they do not match, or others can read the key.
func Read(certFile, keyFile string) (*Certificate, error) {
	text, err := keyfile.Public(certFile, fileBytesMax)
	if err != nil {
		return nil, fileError(err)
	}
	cert, err := parseOne(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", certFile, err)
	}
	key, err := credential.ReadKey(keyFile)
	if err != nil {
		return nil, err
	}
	return named(certFile, keyFile)(pair(cert, key))
}

// ReadOf is Read for files that must belong to a user. Root uses it for the files of other users: a link in a home directory may
// lead to another user's file.
func ReadOf(uid uint32, certFile, keyFile string) (*Certificate, error) {
	text, err := keyfile.SecretOf(uid, certFile, fileBytesMax)
	if err != nil {
		return nil, fileError(err)
	}
	cert, err := parseOne(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", certFile, err)
	}
	if text, err = keyfile.SecretOf(uid, keyFile, fileBytesMax); err != nil {
		return nil, fileError(err)
	}
	key, err := credential.ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", keyFile, err)
	}
	return named(certFile, keyFile)(pair(cert, key))
}

// named adds the names of both files to an error.
func named(certFile, keyFile string) func(*Certificate, error) (*Certificate, error) {
	return func(c *Certificate, err error) (*Certificate, error) {
		if err != nil {
			err = fmt.Errorf("%s and %s: %w", certFile, keyFile, err)
		}
		return c, err
	}
}

// New makes a Certificate of a certificate in DER and its key.
func New(der []byte, key *credential.Key) (*Certificate, error) {
	cert, err := parse(der)
	if err != nil {
		return nil, err
	}
	return pair(cert, key)
}

func pair(cert *x509.Certificate, key *credential.Key) (*Certificate, error) {
	if !key.RSA().PublicKey.Equal(cert.PublicKey) {
		return nil, fmt.Errorf("%w: the certificate is for another key", ErrFile)
	}
	if len(cert.Raw) > certBytesMax {
		return nil, fmt.Errorf("%w: the certificate has %d bytes, more than %d", ErrFile, len(cert.Raw), certBytesMax)
	}
	return &Certificate{cert, key}, nil
}

// PEM is the certificate in PEM, for Read.
func (c *Certificate) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.cert.Raw})
}

// Name is the common name of the user.
func (c *Certificate) Name() string { return c.cert.Subject.CommonName }

// NotAfter is the end of the certificate's validity.
func (c *Certificate) NotAfter() time.Time { return c.cert.NotAfter }

// Sign makes a credential of the certificate's user: it adds the certificate, and a signature with its key. Servers find the user
// and the groups.
func (c *Certificate) Sign(cred *proto.Credential) error {
	cred.User, cred.Groups, cred.Certificate = Anybody, []uint32{Anybody}, c.cert.Raw
	return c.key.Sign(cred)
}
