package credential

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/keyfile"
	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Prefixes of names in a keystore. Only clients may sign credentials.
const (
	clientPrefix = "C:"
	serverPrefix = "S:"
)

const publicType = "PUBLIC KEY"

// Errors of Keystore.Verify.
var (
	ErrUnsigned  = errors.New("the credential is not signed")
	ErrIssuer    = errors.New("the keystore has no client with the name of the credential's issuer")
	ErrSignature = errors.New("the signature of the credential is wrong")
)

// Keystore has public keys by name. It may be used by any goroutine.
type Keystore struct {
	keys map[string]*rsa.PublicKey // by issuer
	seen seen
}

// ReadKeystore reads the file that KeyStore in fs.conf names: entries of a name, C:HOST or S:ALIAS, and a public key in PEM. If a
// name is repeated, its last key counts. ErrFile: the file has something else in it, or others can write it.
func ReadKeystore(name string) (*Keystore, error) {
	text, err := keyfile.Trusted(name, fileBytesMax)
	if err != nil {
		return nil, fileError(err)
	}
	ks, err := ParseKeystore(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return ks, nil
}

// ParseKeystore is ReadKeystore for a text.
func ParseKeystore(text []byte) (*Keystore, error) {
	ks := &Keystore{keys: make(map[string]*rsa.PublicKey)}
	text = bytes.TrimRight(text, space)
	for rest := bytes.TrimLeft(text, space); len(rest) > 0; rest = bytes.TrimLeft(rest, space) {
		line := 1 + bytes.Count(text[:len(text)-len(rest)], []byte("\n"))
		end := bytes.IndexAny(rest, space)
		if end < 0 {
			end = len(rest)
		}
		name := string(rest[:end])
		switch {
		case !strings.HasPrefix(name, clientPrefix) && !strings.HasPrefix(name, serverPrefix):
			return nil, fmt.Errorf("%w: line %d: %.100q where a name that begins with C: or S: belongs", ErrFile, line, name)
		case len(name) == len(clientPrefix):
			return nil, fmt.Errorf("%w: line %d: a name is empty", ErrFile, line)
		}
		key, after, err := parsePublic(bytes.TrimLeft(rest[end:], space))
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: the key of %.100s: %w", ErrFile, line, name, err)
		}
		ks.keys[name], rest = key, after
	}
	return ks, nil
}

// space may stand between names and keys.
const space = " \t\r\n\v\f"

// parsePublic parses the key at the beginning of a text, and returns the rest.
func parsePublic(text []byte) (key *rsa.PublicKey, rest []byte, err error) {
	if !bytes.HasPrefix(text, []byte("-----BEGIN "+publicType+"-----")) {
		return nil, nil, errors.New("there is no PUBLIC KEY in PEM behind the name")
	}
	block, rest := pem.Decode(text)
	if block == nil || block.Type != publicType {
		return nil, nil, errors.New("it is not a whole PEM block")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, nil, err
	}
	key, ok := parsed.(*rsa.PublicKey)
	if !ok {
		return nil, nil, errors.New("it is not for RSA")
	}
	return key, rest, checkSize(key)
}

// Entry formats the entry of a client, with its public key in PEM.
func Entry(host string, public []byte) string { return clientPrefix + host + "\n" + string(public) }

// Has reports whether a client has a key.
func (ks *Keystore) Has(host string) bool { return ks.keys[clientPrefix+host] != nil }

// Clients returns the number of clients.
func (ks *Keystore) Clients() (n int) {
	for name := range ks.keys {
		if strings.HasPrefix(name, clientPrefix) {
			n++
		}
	}
	return n
}

// Verify checks the signature of a credential, but not its expiry. Errors: ErrUnsigned, ErrIssuer, ErrSignature.
func (ks *Keystore) Verify(c *proto.Credential) error {
	if len(c.Signature) == 0 {
		return ErrUnsigned
	}
	key := ks.keys[c.Issuer]
	if key == nil || !strings.HasPrefix(c.Issuer, clientPrefix) {
		return ErrIssuer
	}
	mark := markOf(c)
	if ks.seen.has(mark) {
		return nil
	}
	if err := VerifyWith(key, c); err != nil {
		return err
	}
	ks.seen.add(mark)
	return nil
}
