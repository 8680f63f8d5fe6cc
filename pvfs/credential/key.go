package credential

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // it is what OrangeFS signs with
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/keyfile"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Limits of files and keys.
const (
	fileBytesMax = 16 << 20
	keyBitsMin   = 1024 // the length that pvfs2-gen-keys.sh uses for clients
	keyBitsMax   = proto.MaxSignature * 8
)

// ErrFile: a file has wrong contents, or other users can read or write it although they must not.
var ErrFile = errors.New("credential: not usable")

// Key signs credentials. It may be used by any goroutine.
type Key struct{ private *rsa.PrivateKey }

// ReadKey reads a private key from a PEM file, in PKCS #1 or PKCS #8, without a passphrase. ErrFile: it is not a key, or others
// can read it.
func ReadKey(name string) (*Key, error) {
	text, err := keyfile.Secret(name, fileBytesMax)
	if err != nil {
		return nil, fileError(err)
	}
	key, err := ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return key, nil
}

// ParseKey is ReadKey for a text.
func ParseKey(text []byte) (*Key, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%w: there is no key in PEM in it", ErrFile)
	}
	private, err := parsePrivate(block)
	if err != nil {
		return nil, err
	}
	if err := checkSize(&private.PublicKey); err != nil {
		return nil, err
	}
	if err := private.Validate(); err != nil {
		return nil, fmt.Errorf("%w: the key is damaged: %w", ErrFile, err)
	}
	return &Key{private}, nil
}

func parsePrivate(block *pem.Block) (*rsa.PrivateKey, error) {
	var key any
	var err error
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "PRIVATE KEY":
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	default:
		return nil, fmt.Errorf("%w: it has a %s, want an RSA PRIVATE KEY or a PRIVATE KEY without a passphrase", ErrFile, block.Type)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
	private, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%w: the key is not for RSA", ErrFile)
	}
	return private, nil
}

// GenerateKey makes a key of a number of bits, from 1024 to 4096.
func GenerateKey(bits int) (*Key, error) {
	if bits < keyBitsMin || bits > keyBitsMax {
		return nil, fmt.Errorf("credential: a key has from %d to %d bits, not %d", keyBitsMin, keyBitsMax, bits)
	}
	private, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, err
	}
	return &Key{private}, nil
}

// Private is the key in PEM, for ReadKey.
func (k *Key) Private() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(k.private)})
}

// Public is the public key in PEM, as in an entry of a keystore.
func (k *Key) Public() ([]byte, error) {
	b, err := x509.MarshalPKIXPublicKey(&k.private.PublicKey)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: publicType, Bytes: b}), nil
}

// Sign sets the signature of a credential.
func (k *Key) Sign(c *proto.Credential) error {
	digest := digestOf(c)
	s, err := rsa.SignPKCS1v15(rand.Reader, k.private, crypto.SHA1, digest[:])
	if err != nil {
		return fmt.Errorf("credential: sign a credential: %w", err)
	}
	c.Signature = s
	return nil
}

// RSA is the key itself, for other uses than signing credentials.
func (k *Key) RSA() *rsa.PrivateKey { return k.private }

// VerifyWith checks that the private half of a key signed a credential. It does not check the expiry. ErrUnsigned, ErrSignature.
func VerifyWith(key *rsa.PublicKey, c *proto.Credential) error {
	if len(c.Signature) == 0 {
		return ErrUnsigned
	}
	digest := digestOf(c)
	if rsa.VerifyPKCS1v15(key, crypto.SHA1, digest[:], c.Signature) != nil {
		return ErrSignature
	}
	return nil
}

// CheckPublic checks that a public key has an allowed length. ErrFile.
func CheckPublic(key *rsa.PublicKey) error { return checkSize(key) }

// digestOf is the digest that is signed.
func digestOf(c *proto.Credential) [sha1.Size]byte {
	var room [256]byte
	return sha1.Sum(c.AppendSigned(room[:0])) //nolint:gosec // see above
}

func checkSize(key *rsa.PublicKey) error {
	if bits := key.N.BitLen(); bits < keyBitsMin || bits > keyBitsMax {
		return fmt.Errorf("%w: the key has %d bits, need %d to %d", ErrFile, bits, keyBitsMin, keyBitsMax)
	}
	return nil
}

// fileError turns the error about an unsafe file into one of this package.
func fileError(err error) error {
	if errors.Is(err, keyfile.ErrUnsafe) {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	return err
}
