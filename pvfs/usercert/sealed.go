package usercert

import (
	"crypto/rand"
	"crypto/rsa"
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
	var sealed []byte
	for size := to.Size() - paddingBytes; len(rest) > 0; {
		n := min(size, len(rest))
		block, err := rsa.EncryptPKCS1v15(rand.Reader, to, rest[:n])
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

// OpenPassword decrypts a password. What is not encrypted as it should be yields a random one, in the same time: whoever could tell wrong
// padding from a wrong password could have the authority's key sign what it likes (Bleichenbacher's attack).
func (a *Authority) OpenPassword(sealed []byte) (string, error) {
	if a.key == nil {
		return "", ErrNoKey
	}
	block := make([]byte, a.key.Size()-paddingBytes)
	if _, err := rand.Read(block); err != nil {
		return "", err
	}
	if len(sealed) != a.key.Size() {
		sealed = make([]byte, a.key.Size())
	}
	if err := rsa.DecryptPKCS1v15SessionKey(nil, a.key, sealed, block); err != nil {
		return "", ErrSealed // a number that is larger than the key, as its sender knows
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
		block, err := rsa.DecryptPKCS1v15(nil, a.key, sealed[:size])
		if err != nil {
			block = make([]byte, size-paddingBytes) // it goes on as if these were the bytes
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
