package secure

import (
	"bytes"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/flynn/noise"

	"github.com/viaduct-hpc/viaduct/internal/sharedkey"
)

// A PrivateKey is the static key of one endpoint, on Curve25519. It hides itself when printed.
type PrivateKey struct {
	pair noise.DHKey
	root [keyBytes]byte
}

// privateMark begins the line of a private key in its file, so that the key is not mistaken for a
// public or a shared one: 32 bytes of base64 look the same in all three files.
const privateMark = sharedkey.PrivateMark

const privateSalt = "viaduct udp static key, version 1"

// NewPrivateKey makes a key from the system's random source.
func NewPrivateKey() (*PrivateKey, error) {
	var raw [keyBytes]byte
	if _, err := io.ReadFull(rand.Reader, raw[:]); err != nil {
		return nil, err
	}
	defer clear(raw[:])
	return privateKey(raw[:])
}

// privateKey makes a key of its 32 bytes.
func privateKey(raw []byte) (*PrivateKey, error) {
	if len(raw) != keyBytes {
		return nil, fmt.Errorf("%d bytes, want %d random ones", len(raw), keyBytes)
	}
	if bytes.Equal(raw, make([]byte, keyBytes)) {
		return nil, errors.New("all its bytes are zero; make one with: bmi genkey NAME")
	}
	private, err := ecdh.X25519().NewPrivateKey(raw)
	if err != nil {
		return nil, err
	}
	root, err := hkdf.Extract(sha256.New, raw, []byte(privateSalt))
	if err != nil {
		return nil, err
	}
	k := &PrivateKey{pair: noise.DHKey{Private: bytes.Clone(raw), Public: private.PublicKey().Bytes()}}
	copy(k.root[:], root)
	return k, nil
}

// parsePrivateKey reads the text of a key's file.
func parsePrivateKey(text []byte) (*PrivateKey, error) {
	var found []byte
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '#':
		case found != nil:
			return nil, errors.New("it has more than one line with a key; keep one")
		default:
			found = line
		}
	}
	words := bytes.Fields(found)
	if len(words) != 2 || string(words[0]) != privateMark {
		return nil, fmt.Errorf("it is no private key: want a line %q and the key in base64, as bmi genkey writes it", privateMark)
	}
	raw, ok := sharedkey.Decode(words[1])
	defer clear(raw[:])
	if !ok {
		return nil, fmt.Errorf("the word behind %q is not %d bytes in base64 or hexadecimal digits; make a key with: bmi genkey NAME", privateMark, keyBytes)
	}
	return privateKey(raw[:])
}

// Public is the public half of the key.
func (k *PrivateKey) Public() (public PublicKey) {
	copy(public[:], k.pair.Public)
	return public
}

// Text is the content of the key's file. It is as secret as the key.
func (k *PrivateKey) Text() string {
	return fmt.Sprintf("# Private key of an endpoint of via+udp. Whoever reads it can pose as that endpoint.\n# Its public key: %s\n%s %s\n",
		k.Public(), privateMark, base64.StdEncoding.EncodeToString(k.pair.Private))
}

// derive makes a secret for one purpose.
func (k *PrivateKey) derive(info string) [keyBytes]byte { return expand(k.root, info) }

// Format keeps a key out of logs, for every verb and inside other values.
func (PrivateKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "PrivateKey(hidden)") }

// MarshalText keeps a key out of text encodings, such as JSON.
func (PrivateKey) MarshalText() ([]byte, error) { return []byte("PrivateKey(hidden)"), nil }
