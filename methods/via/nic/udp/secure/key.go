package secure

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"github.com/viaduct-hpc/viaduct/internal/keyfile"
)

// A Key is the secret that all sides share. It hides itself when printed.
type Key struct {
	root [keyBytes]byte
}

const keyBytes = 32

// The labels with which keys are derived. Another version has other keys, and so
// does another method, in case both get the same file.
const (
	keySalt        = "viaduct udp shared key, version 1"
	passphraseSalt = "viaduct udp passphrase, version 1"
	infoHandshake  = "handshake"
	infoStatic     = "handshake with static keys"
	infoReset      = "reset of "
	infoPlace      = " at "
)

// Cost of hashing a passphrase with Argon2id: tens of milliseconds and 19 MiB
// (the OWASP recommendation), because an attacker that records a handshake can
// test guesses offline.
const (
	passphraseRounds = 2
	passphraseKiB    = 19 << 10
	passphraseLanes  = 1
)

// A Source says where the key is; exactly one of the two fields is set.
type Source struct {
	// File is the name of a file with the key, readable by its owner only.
	File string
	// Text is the key itself.
	Text string `json:"-"` // so that it is not in logs
}

// ErrNoKey: a Source is empty. The caller knows how to give a key.
var ErrNoKey = errors.New("secure: no shared key is given")

// Load reads the key. Its errors say what to do, and never show the key.
func (s Source) Load() (*Key, error) {
	switch {
	case s.File != "" && s.Text != "":
		return nil, errors.New("secure: a shared key and a file with one are both given; choose one")
	case s.File != "":
		text, err := keyfile.Secret(s.File, KeyFileBytesMax)
		if err != nil {
			return nil, fmt.Errorf("secure: shared key: %w", err)
		}
		defer clear(text)
		key, err := parseKey(text)
		if err != nil {
			return nil, fmt.Errorf("secure: shared key %s: %w", s.File, err)
		}
		return key, nil
	case s.Text != "":
		key, err := parseKey([]byte(s.Text))
		if err != nil {
			return nil, fmt.Errorf("secure: shared key: %w", err)
		}
		return key, nil
	}
	return nil, ErrNoKey
}

// parseKey reads 32 bytes in hex or base64, or takes the text as a passphrase.
// Surrounding white space is ignored.
func parseKey(text []byte) (*Key, error) {
	text = bytes.TrimSpace(text)
	if bytes.Contains(text, []byte(privateMark)) {
		return nil, errors.New("it is the private key of one endpoint, not a key that all sides share")
	}
	var raw [keyBytes]byte
	switch characters := utf8.RuneCount(text); {
	case decodeHex(raw[:], text), decodeBase64(raw[:], text):
		if raw == [keyBytes]byte{} {
			return nil, errors.New("all its bytes are zero; make one with: head -c 32 /dev/urandom | base64")
		}
	case characters < PassphraseMin:
		return nil, fmt.Errorf("%d characters are too short: it is to be 32 random bytes in hex or base64 (head -c 32 /dev/urandom | base64), or a passphrase of at least %d characters",
			characters, PassphraseMin)
	case bytes.Count(text, text[:1]) == len(text):
		return nil, errors.New("a passphrase of one repeated character is none; make a key with: head -c 32 /dev/urandom | base64")
	default:
		copy(raw[:], argon2.IDKey(text, []byte(passphraseSalt), passphraseRounds, passphraseKiB, passphraseLanes, keyBytes))
	}
	root, err := hkdf.Extract(sha256.New, raw[:], []byte(keySalt))
	if err != nil {
		return nil, err
	}
	key := &Key{}
	copy(key.root[:], root)
	return key, nil
}

func decodeHex(to, text []byte) bool {
	if len(text) != hex.EncodedLen(len(to)) {
		return false
	}
	if _, err := hex.Decode(to, text); err != nil {
		clear(to)
		return false
	}
	return true
}

// decodeBase64 accepts the standard and the URL alphabet, padded or not.
func decodeBase64(to, text []byte) bool {
	text = bytes.TrimSuffix(text, []byte("="))
	if len(text) != base64.RawStdEncoding.EncodedLen(len(to)) {
		return false
	}
	for _, coding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if n, err := coding.Strict().Decode(to, text); err == nil && n == len(to) {
			return true
		}
	}
	clear(to)
	return false
}

// derive makes the key for one purpose.
func (k *Key) derive(info string) [keyBytes]byte { return expand(k.root, info) }

// Format keeps a key out of logs, for every verb and inside other values.
func (Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "Key(hidden)") }

// Format prints the name of the file, and keeps the text out of logs.
func (s Source) Format(f fmt.State, _ rune) {
	text := ""
	if s.Text != "" {
		text = "hidden"
	}
	_, _ = fmt.Fprintf(f, "Source(file %q, text %q)", s.File, text)
}
