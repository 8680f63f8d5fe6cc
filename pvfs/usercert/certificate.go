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

// Anybody stands for the user and the group in a credential with a certificate: servers find them by its subject.
const Anybody = 0xffffffff

// Certificate is a user's certificate with its private key. It may be used by any goroutine.
type Certificate struct {
	cert *x509.Certificate
	key  *credential.Key
}

// Read reads a certificate and its private key, each in PEM. ErrFile: they do not belong together, or others can read the key.
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

// ReadOf is Read of files that belong to a user. Root reads those of others in this way: what their homes link to may be a file of somebody
// else.
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

// named adds the names of the files to an error of both.
func named(certFile, keyFile string) func(*Certificate, error) (*Certificate, error) {
	return func(c *Certificate, err error) (*Certificate, error) {
		if err != nil {
			err = fmt.Errorf("%s and %s: %w", certFile, keyFile, err)
		}
		return c, err
	}
}

// New makes a certificate in DER and its key one.
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

// PEM is the certificate as Read takes it.
func (c *Certificate) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.cert.Raw})
}

// Name is the common name of the user.
func (c *Certificate) Name() string { return c.cert.Subject.CommonName }

// NotAfter is until when the certificate is valid.
func (c *Certificate) NotAfter() time.Time { return c.cert.NotAfter }

// Sign makes a credential one of the user of the certificate: it adds the certificate, and the signature with its key. Servers find user and
// groups.
func (c *Certificate) Sign(cred *proto.Credential) error {
	cred.User, cred.Groups, cred.Certificate = Anybody, []uint32{Anybody}, c.cert.Raw
	return c.key.Sign(cred)
}
