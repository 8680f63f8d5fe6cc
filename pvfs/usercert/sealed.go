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
	// paddingBytes is how much shorter than the key a block is that is encrypted. 11 would be enough; OrangeFS leaves 12.
	paddingBytes = 12
	// blocksMax bounds the blocks of a private key: one of 4096 bits for an authority of 1024.
	blocksMax = 24
)

// ErrSealed is for what was not encrypted for the key of the authority, or contains no key.
var ErrSealed = errors.New("usercert: the message has no key that was encrypted for the authority")

// PublicKey is the authority's key as it is sent to clients, an RSAPublicKey of PKCS #1.
func (a *Authority) PublicKey() []byte { return x509.MarshalPKCS1PublicKey(a.public) }

// ParsePublicKey reads what PublicKey is. ErrFile.
func ParsePublicKey(b []byte) (*rsa.PublicKey, error) {
	key, err := x509.ParsePKCS1PublicKey(b)
	if err != nil {
		return nil, fmt.Errorf("usercert: the public key of the authority: %w", err)
	}
	return key, credential.CheckPublic(key)
}

// IsKeyOf reports whether a key is that of the authority's certificate.
func (a *Authority) IsKeyOf(key *rsa.PublicKey) bool { return key.Equal(a.public) }

// SealPassword encrypts a password for the key of an authority. An error says that it is too long.
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

// SealKey encrypts a user's key for the key of an authority. The message has the form of a private key, but only the public half is in it:
// no server needs more to make a certificate.
func SealKey(to, key *rsa.PublicKey) ([]byte, error) {
	one := big.NewInt(1)
	rest, err := asn1.Marshal(privateKey{N: key.N, E: big.NewInt(int64(key.E)), D: one, P: one, Q: one, Dp: one, Dq: one, Qinv: one})
	if err != nil {
		return nil, err
	}
	size := to.Size() - paddingBytes
	if len(rest) < size {
		rest = append(rest, make([]byte, size-len(rest))...) // one block has no other to tell how long it is
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

// OpenPassword decrypts a password. What is not encrypted as it should be is a password like another, which nobody knows (open).
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

// OpenKey decrypts a user's key and returns the public half, which is all that is looked at. There is one error, ErrSealed, whatever is wrong.
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

// open decrypts a block of n bytes. One with other padding or another length yields n other bytes, always the same, in the same time. If whoever sends
// messages could tell, it could have the authority's key sign what it likes (Bleichenbacher's attack), with a password of its own as well as without
// one: the bytes of a key come back in its certificate. ErrSealed: the message is no number below the key, as its sender knows.
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

// derSize is how long a value in DER is that a text begins with, with its header; 0 if that does not tell.
func derSize(text []byte) int {
	switch {
	case len(text) >= 4 && text[0] == 0x30 && text[1] == 0x82:
		return 4 + int(text[2])<<8 + int(text[3])
	case len(text) >= 3 && text[0] == 0x30 && text[1] == 0x81:
		return 3 + int(text[2])
	}
	return 0
}

// publicOf reads the public half of an RSAPrivateKey.
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
