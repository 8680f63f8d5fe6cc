package secure

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/sharedkey"
)

// A PublicKey is the public half of an endpoint's static key.
type PublicKey [keyBytes]byte

// String is the key in base64, as in the files.
func (k PublicKey) String() string { return base64.StdEncoding.EncodeToString(k[:]) }

// ParsePublicKey reads a key in base64 or hexadecimal digits.
func ParsePublicKey(text string) (PublicKey, error) {
	key, ok := sharedkey.Decode([]byte(text))
	switch {
	case !ok:
		return PublicKey{}, fmt.Errorf("want a public key, %d bytes in base64, as bmi genkey prints it, or in hexadecimal digits", keyBytes)
	case key == sharedkey.Key{}:
		return PublicKey{}, errors.New("a public key of zeros alone is none")
	}
	return PublicKey(key), nil
}

// NameMax is the longest name of an endpoint, in bytes.
const NameMax = 64

// CheckName reports what is wrong with the name of an endpoint. A name appears in files, logs and
// addresses, so only letters, digits and a few other characters are allowed.
func CheckName(name string) error {
	switch {
	case name == "" || len(name) > NameMax:
		return fmt.Errorf("a name has 1 to %d characters", NameMax)
	case strings.ContainsAny(name[:1], ".-@"):
		return fmt.Errorf("name %q: it must begin with a letter, a digit or _", name)
	}
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-', c == '@':
		default:
			return fmt.Errorf("name %q: %q cannot stand in it; use letters, digits and . _ - @", name, c)
		}
	}
	return nil
}

// keyLines calls take for each line of a file with a word and a public key. # begins a comment.
func keyLines(text, want string, take func(word string, key PublicKey) error) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		err := takeLine(words, want, take)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return nil
}

func takeLine(words []string, want string, take func(word string, key PublicKey) error) error {
	if words[0] == privateMark {
		return errors.New("this is a private key, which nobody else must see; want its public key, which bmi genkey prints")
	}
	if len(words) != 2 {
		return fmt.Errorf("want %s and a public key, and nothing else", want)
	}
	key, err := ParsePublicKey(words[1])
	if err != nil {
		return err
	}
	return take(words[0], key)
}
