package credential

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/viaduct-hpc/viaduct/pvfs/proto"
)

// Who may sign credentials for somebody else: clients, whose names begin so. Those of servers begin with S, and what they sign is
// for one another.
const (
	clientPrefix = "C:"
	serverPrefix = "S:"
)

const publicType = "PUBLIC KEY"

// Why a credential is not believed.
var (
	// ErrUnsigned is for a credential without a signature.
	ErrUnsigned = errors.New("the credential is not signed")
	// ErrIssuer is for one that is signed by somebody whose key is not known, or who is no client.
	ErrIssuer = errors.New("the key of who signed the credential is not in the keystore")
	// ErrSignature is for one that says something else than what was signed, or was signed with another key.
	ErrSignature = errors.New("the signature of the credential is wrong")
)

// Keystore has the public keys of those who sign credentials. It may be used by any goroutine.
type Keystore struct {
	keys map[string]*rsa.PublicKey // by issuer
	seen seen
}

// ReadKeystore reads the file that KeyStore names in fs.conf: again and again a name, C:HOST or S:ALIAS, and behind it
// the public key of who has that name, in PEM. The last key of a name is the one. ErrFile: it is something else, or others can write it.
func ReadKeystore(name string) (*Keystore, error) {
	text, err := readFile(name, 0o022, "write")
	if err != nil {
		return nil, err
	}
	ks, err := ParseKeystore(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return ks, nil
}

// ParseKeystore is ReadKeystore of a text.
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
			return nil, fmt.Errorf("%w: line %d: %.100q where a name belongs, which begins with C: or S:", ErrFile, line, name)
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

// space is what may stand between names and keys.
const space = " \t\r\n\v\f"

// parsePublic takes the key that a text begins with, and returns what is behind it.
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

// Clients is how many clients have a key.
func (ks *Keystore) Clients() (n int) {
	for name := range ks.keys {
		if strings.HasPrefix(name, clientPrefix) {
			n++
		}
	}
	return n
}

// Verify checks that a client of the keystore signed a credential as it is. Whether it is too old is not checked. Errors: ErrUnsigned,
// ErrIssuer, ErrSignature.
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
	digest := digestOf(c)
	if rsa.VerifyPKCS1v15(key, crypto.SHA1, digest[:], c.Signature) != nil {
		return ErrSignature
	}
	ks.seen.add(mark)
	return nil
}
