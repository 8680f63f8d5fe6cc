// Package sharedkey reads the keys that several processes share. Every variable, file and option with such a key takes the same
// texts, so a key that works in one place works in all of them:
//
//   - 32 bytes as 64 hexadecimal digits,
//   - 32 bytes in base64, in either alphabet, padded or not,
//   - any other text of at least 16 characters: a passphrase, which is hashed with Argon2id.
//
// White space around it does not count. A text that looks like a key of another length, or like the name of a file, is an error,
// and not a passphrase. No error repeats any part of a key.
package sharedkey

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// Limits of a key and its text.
const (
	Bytes         = 32   // of a key
	FileBytesMax  = 4096 // of its file
	PassphraseMin = 16   // characters
	// hexMin is the length from which a text of hexadecimal digits alone is a key that is too short or too long, and not a
	// passphrase.
	hexMin = 32
)

// The cost of hashing a passphrase: tens of milliseconds and 19 MiB (the recommendation of OWASP), because an attacker that
// records a handshake can test guesses offline.
const (
	passphraseSalt   = "viaduct udp passphrase, version 1"
	passphraseRounds = 2
	passphraseKiB    = 19 << 10
	passphraseLanes  = 1
)

// PrivateMark begins the line of a private key of via+udp in its file. It is known here so that such a file is not taken for a
// passphrase.
const PrivateMark = "viaduct-udp-private-key"

// Make is the command that prints a good key.
const Make = "head -c 32 /dev/urandom | base64"

// A Key is 32 secret bytes. It hides itself when printed.
type Key [Bytes]byte

// Format keeps a key out of logs, for every verb and inside other values.
func (Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "Key(hidden)") }

// MarshalText keeps a key out of text encodings, such as JSON.
func (Key) MarshalText() ([]byte, error) { return []byte("Key(hidden)"), nil }

// Hex is the key in hexadecimal digits, as secret as the key.
func (k Key) Hex() string { return hex.EncodeToString(k[:]) }

// Parse reads the text of a key.
func Parse(text []byte) (Key, error) {
	text = bytes.TrimSpace(text)
	if key, ok := Decode(text); ok {
		if key == (Key{}) {
			return Key{}, errors.New("all bytes of the key are zero; make one with: " + Make)
		}
		return key, nil
	}
	if err := checkPassphrase(text); err != nil {
		return Key{}, err
	}
	var key Key
	copy(key[:], argon2.IDKey(text, []byte(passphraseSalt), passphraseRounds, passphraseKiB, passphraseLanes, Bytes))
	return key, nil
}

// Decode decodes 32 bytes in hexadecimal digits or base64.
func Decode(text []byte) (key Key, ok bool) {
	if len(text) == hex.EncodedLen(Bytes) {
		if _, err := hex.Decode(key[:], text); err == nil {
			return key, true
		}
		return Key{}, false
	}
	if raw, ok := decodeBase64(text); ok && len(raw) == Bytes {
		return Key(raw), true
	}
	return Key{}, false
}

// decodeBase64 accepts the standard and the URL alphabet, padded or not.
func decodeBase64(text []byte) ([]byte, bool) {
	bare := bytes.TrimRight(text, "=")
	if pad := len(text) - len(bare); pad > 0 && (pad > 2 || len(text)%4 != 0) {
		return nil, false
	}
	for _, coding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		raw, err := coding.Strict().AppendDecode(nil, bare)
		if err == nil && !bytes.ContainsAny(bare, "\r\n") { // which the decoder would skip
			return raw, true
		}
	}
	return nil, false
}

// checkPassphrase reports why a text that is no key is no passphrase either.
func checkPassphrase(text []byte) error {
	characters := utf8.RuneCount(text)
	switch {
	case bytes.Contains(text, []byte(PrivateMark)):
		return errors.New("it is the private key of one endpoint, not a key that all sides share")
	case bytes.Contains(text, []byte("-----BEGIN ")):
		return errors.New("it is a certificate or key in PEM, not a key that all sides share")
	case len(text) >= hexMin && len(bytes.Trim(text, "0123456789abcdefABCDEF")) == 0:
		return fmt.Errorf("%d hexadecimal digits are not a key, which has %d of them; make one with: %s", len(text), 2*Bytes, Make)
	case bytes.HasPrefix(text, []byte("/")), bytes.HasPrefix(text, []byte("./")), bytes.HasPrefix(text, []byte("../")), bytes.HasPrefix(text, []byte("~/")):
		return errors.New("this is the name of a file, and the key itself is expected; a variable that ends in _FILE takes the name")
	case characters < PassphraseMin:
		return fmt.Errorf("%d characters are too short for a key: it is %d random bytes in hexadecimal digits or base64 (%s), or a passphrase of at least %d characters",
			characters, Bytes, Make, PassphraseMin)
	case bytes.Count(text, text[:1]) == len(text):
		return errors.New("a passphrase of one repeated character is none; make a key with: " + Make)
	}
	if raw, ok := decodeBase64(text); ok && bytes.HasSuffix(text, []byte("=")) {
		return fmt.Errorf("%d bytes in base64 are not a key, which has %d; make one with: %s", len(raw), Bytes, Make)
	}
	return nil
}
