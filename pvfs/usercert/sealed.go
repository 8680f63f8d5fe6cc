package usercert

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/viaduct-hpc/viaduct/pvfs/credential"
)

const (
	// paddingBytes is the difference between the key length and the length of an encrypted block. 11 would be enough; OrangeFS
	// uses 12.
	paddingBytes = 12
	// blocksMax limits the blocks of a private key: a key of 4096 bits for an authority of 1024.
	blocksMax = 24
)

// ErrSealed is for a message that was not encrypted for the authority's key, or that contains no key.
var ErrSealed = errors.New("usercert: the message has no key that was encrypted for the authority")

// PublicKey is the authority's key for clients, an RSAPublicKey of PKCS #1.
func (a *Authority) PublicKey() []byte { return x509.MarshalPKCS1PublicKey(a.public) }

// ParsePublicKey parses the result of PublicKey. ErrFile.
func ParsePublicKey(b []byte) (*rsa.PublicKey, error) {
	key, err := x509.ParsePKCS1PublicKey(b)
	if err != nil {
		return nil, fmt.Errorf("usercert: the public key of the authority: %w", err)
	}
	return key, credential.CheckPublic(key)
}

// IsKeyOf reports whether a key is that of the authority's certificate.
func (a *Authority) IsKeyOf(key *rsa.PublicKey) bool { return key.Equal(a.public) }

// SealPassword encrypts a password for an authority's key. The error says that it is too long.
func SealPassword(to *rsa.PublicKey, password string) ([]byte, error) {
	block := make([]byte, to.Size()-paddingBytes)
	if len(password) >= len(block) || strings.ContainsRune(password, 0) {
		return nil, fmt.Errorf("usercert: a password must have fewer than %d bytes, and no zero among them", len(block))
	}
	copy(block, password)
	return encrypt(to, block)
}

func encrypt(to *rsa.PublicKey, block []byte) ([]byte, error) {
	//lint:ignore SA1019 it is what OrangeFS decrypts
	return rsa.EncryptPKCS1v15(rand.Reader, to, block)
}

// SealKey encrypts a user's key for an authority's key. The message has the form of a private key, but only its public half is
// real: a server needs no more to make a certificate.
func SealKey(to, key *rsa.PublicKey) ([]byte, error) {
	one := big.NewInt(1)
	rest, err := asn1.Marshal(privateKey{N: key.N, E: big.NewInt(int64(key.E)), D: one, P: one, Q: one, Dp: one, Dq: one, Qinv: one})
	if err != nil {
		return nil, err
	}
	size := to.Size() - paddingBytes
	if len(rest) < size {
		rest = append(rest, make([]byte, size-len(rest))...) // the first block must be full, because no earlier one tells its length
	}
	var sealed []byte
	for len(rest) > 0 {
		n := min(size, len(rest))
		block, err := encrypt(to, rest[:n])
		if err != nil {
			return nil, err
		}
		sealed, rest = append(sealed, block...), rest[n:]
	}
	return sealed, nil
}

// privateKey is an RSAPrivateKey of two primes.
type privateKey struct {
	Version                     int
	N, E, D, P, Q, Dp, Dq, Qinv *big.Int
}

// OpenPassword decrypts a password. If the message is not encrypted correctly, the result is a random password that no user has
// (see open).
func (a *Authority) OpenPassword(sealed []byte) (string, error) {
	if a.key == nil {
		return "", ErrNoKey
	}
	if len(sealed) != a.key.Size() {
		sealed = make([]byte, a.key.Size())
	}
	block, err := a.open(sealed, a.key.Size()-paddingBytes)
	if err != nil {
		return "", err
	}
	password, _, _ := strings.Cut(string(block), "\x00")
	clear(block)
	return password, nil
}

// OpenKey decrypts a user's key and returns its public half; the rest is ignored. For every fault there is the same error,
// ErrSealed.
func (a *Authority) OpenKey(sealed []byte) (*rsa.PublicKey, error) {
	if a.key == nil {
		return nil, ErrNoKey
	}
	size := a.key.Size()
	if len(sealed) == 0 || len(sealed)%size != 0 || len(sealed) > blocksMax*size {
		return nil, ErrSealed
	}
	var text []byte
	defer func() { clear(text[:cap(text)]) }()
	for ; len(sealed) > 0; sealed = sealed[size:] {
		n := size - paddingBytes
		if last := derSize(text) - len(text); len(sealed) == size && len(text) > 0 && last > 0 {
			n = min(n, last)
		}
		block, err := a.open(sealed[:size], n)
		if err != nil {
			return nil, err
		}
		text = append(text, block...)
		clear(block)
	}
	key, ok := publicOf(text)
	if !ok {
		return nil, ErrSealed
	}
	return key, nil
}

// open decrypts a block of n bytes. A block with wrong padding or another length yields n other bytes, always the same ones, in
// the same time. If a sender could tell the difference, it could make the authority's key sign data of its choice
// (Bleichenbacher's attack). This holds with and without a valid password, because the bytes of a key come back in its
// certificate. ErrSealed: the message is not a number below the key, which its sender knows anyway.
func (a *Authority) open(sealed []byte, n int) ([]byte, error) {
	block, err := hkdf.Key(sha256.New, a.key.D.Bytes(), nil, string(sealed), n)
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 it is what OrangeFS encrypts with
	if err := rsa.DecryptPKCS1v15SessionKey(nil, a.key, sealed, block); err != nil {
		return nil, ErrSealed
	}
	return block, nil
}

// derSize is the length of the DER value at the start of a text, with its header; 0 if the header is incomplete or too short.
func derSize(text []byte) int {
	switch {
	case len(text) >= 4 && text[0] == 0x30 && text[1] == 0x82:
		return 4 + int(text[2])<<8 + int(text[3])
	case len(text) >= 3 && text[0] == 0x30 && text[1] == 0x81:
		return 3 + int(text[2])
	}
	return 0
}

// publicOf parses the public half of an RSAPrivateKey.
func publicOf(der []byte) (*rsa.PublicKey, bool) {
	var key privateKey
	if _, err := asn1.Unmarshal(der, &key); err != nil {
		return nil, false
	}
	if key.Version != 0 || key.N.Sign() <= 0 || key.N.Bit(0) == 0 || !key.E.IsInt64() || key.E.Int64() < 3 || key.E.Int64() > math.MaxInt32 || key.E.Bit(0) == 0 {
		return nil, false
	}
	public := &rsa.PublicKey{N: key.N, E: int(key.E.Int64())}
	return public, credential.CheckPublic(public) == nil
}
