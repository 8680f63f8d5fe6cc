package sharedkey

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// random is a key whose base64 has characters in which the two alphabets differ.
func random() (key Key) {
	for i := range key {
		key[i] = byte(200 + 3*i)
	}
	return key
}

// spellings are all texts of one key.
func spellings(key Key) []string {
	return []string{
		key.Hex(), strings.ToUpper(key.Hex()),
		base64.StdEncoding.EncodeToString(key[:]), base64.RawStdEncoding.EncodeToString(key[:]),
		base64.URLEncoding.EncodeToString(key[:]), base64.RawURLEncoding.EncodeToString(key[:]),
	}
}

func file(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

// TestOneKey: the same key in all its spellings, as a value and in a file.
func TestOneKey(t *testing.T) {
	want := random()
	for _, text := range spellings(want) {
		for _, source := range []Source{{Text: text}, {Text: "\n " + text + "\r\n"}, {File: file(t, text)}, {File: file(t, text+"\n")}} {
			got, err := source.Load()
			require.NoError(t, err, text)
			assert.Equal(t, [Bytes]byte(want), [Bytes]byte(got), text)
		}
	}
}

func TestPassphrase(t *testing.T) {
	const text = "correct horse battery staple"
	one, err := Source{Text: text}.Load()
	require.NoError(t, err)
	// The hash is part of the protocol of via+udp.
	assert.Equal(t, goldenPassphrase, one.Hex())
	same, err := Source{File: file(t, text+"\n")}.Load()
	require.NoError(t, err)
	assert.Equal(t, one.Hex(), same.Hex())
	other, err := Source{Text: text + "."}.Load()
	require.NoError(t, err)
	assert.NotEqual(t, one.Hex(), other.Hex())
	for _, text := range []string{
		strings.Repeat("ü", 15) + "!", strings.Repeat("?!", 32), strings.Repeat("ab", 15), // too short to be meant as hexadecimal digits
		"correcthorsebatterystaple", "a/relative/name/of/a/file", "\xff\xfe binary \x00 bytes \x80",
	} {
		_, err := Parse([]byte(text))
		assert.NoError(t, err, text)
	}
}

// TestErrors: what is no key is an error that says what to do, and shows nothing of it.
func TestErrors(t *testing.T) {
	key := random()
	digits, coded := key.Hex(), base64.StdEncoding.EncodeToString(key[:])
	open := file(t, digits)
	require.NoError(t, os.Chmod(open, 0o640))
	for name, c := range map[string]struct {
		source Source
		says   string
	}{
		"none":               {Source{}, "no key is given"},
		"both":               {Source{File: "x", Text: digits}, "choose one"},
		"no such file":       {Source{File: "/no/such/file"}, "no such file"},
		"folder":             {Source{File: t.TempDir()}, "not a regular file"},
		"open to a group":    {Source{File: open}, "chmod 600"},
		"long file":          {Source{File: file(t, strings.Repeat(digits, 100))}, "longer than 4096"},
		"empty file":         {Source{File: file(t, " \n")}, "0 characters are too short"},
		"hex as file":        {Source{File: digits}, "put it into a file"},
		"base64 as file":     {Source{File: coded}, "put it into a file"},
		"file as value":      {Source{Text: "/etc/viaduct/the.key"}, "a variable that ends in _FILE"},
		"file of the home":   {Source{Text: "~/.viaduct/the.key"}, "a variable that ends in _FILE"},
		"file here":          {Source{Text: "./some-folder/the.key"}, "a variable that ends in _FILE"},
		"one digit missing":  {Source{Text: digits[1:]}, "63 hexadecimal digits"},
		"one digit too much": {Source{Text: digits + "0"}, "65 hexadecimal digits"},
		"half":               {Source{Text: digits[:32]}, "32 hexadecimal digits"},
		"base64 of 16 bytes": {Source{Text: base64.StdEncoding.EncodeToString(key[:16])}, "16 bytes in base64"},
		"base64 of 31 bytes": {Source{Text: base64.StdEncoding.EncodeToString(key[:31])}, "31 bytes in base64"},
		"short":              {Source{Text: "fifteen letters"}, "15 characters are too short"},
		"short, wide":        {Source{Text: strings.Repeat("ü", 15)}, "15 characters are too short"},
		"zeros":              {Source{Text: strings.Repeat("0", 2*Bytes)}, Make},
		"zeros in base64":    {Source{Text: base64.StdEncoding.EncodeToString(make([]byte, Bytes))}, Make},
		"private key":        {Source{Text: "# a comment\n" + PrivateMark + " " + coded}, "private key of one endpoint"},
		"PEM":                {Source{File: file(t, "-----BEGIN RSA PRIVATE KEY-----\n"+coded+"\n")}, "in PEM"},
		"one letter":         {Source{Text: strings.Repeat("x", 20)}, "repeated"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.source.Load()
			assert.True(t, got == Key{})
			require.ErrorContains(t, err, c.says)
			for _, secret := range []string{digits[:12], digits[20:32], coded[:12], "fifteen letters", "/etc/viaduct", "xxxx"} {
				assert.NotContains(t, err.Error(), secret)
			}
		})
	}
}

func TestKeysDoNotShow(t *testing.T) {
	key := random()
	misplaced := Source{File: key.Hex(), Text: "correct horse battery"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		for _, one := range []any{key, &key, misplaced, &misplaced, []Key{key}, struct{ S Source }{misplaced}} {
			text := fmt.Sprintf(verb, one)
			for _, secret := range []string{key.Hex()[:8], fmt.Sprint(key[0], " ", key[1]), "horse"} {
				assert.NotContains(t, text, secret)
			}
		}
	}
	text, err := json.Marshal([]any{key, Source{Text: "correct horse battery"}})
	require.NoError(t, err)
	assert.NotContains(t, string(text), "horse")
	assert.Contains(t, string(text), "hidden")
}

// FuzzParse: a text is a key, a passphrase or an error, the same with white space around it; no error contains it.
func FuzzParse(f *testing.F) {
	for _, text := range append(spellings(random()), "", "correct horse battery staple", "/etc/key", "0", "====", "AAAA\nAAAA") {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > FileBytesMax {
			t.Skip("no file is so long")
		}
		if key, ok := Decode(bytes.TrimSpace(text)); ok {
			got, err := Parse(text)
			require.Equal(t, key == Key{}, err != nil)
			require.Equal(t, key.Hex(), got.Hex())
			for _, again := range spellings(key) {
				same, ok := Decode([]byte(again))
				require.True(t, ok)
				require.Equal(t, key.Hex(), same.Hex())
			}
			return
		}
		trimmed := bytes.TrimSpace(text)
		if err := checkPassphrase(trimmed); err != nil { // without the hash, which takes long
			require.False(t, len(trimmed) > 40 && strings.Contains(err.Error(), string(trimmed)))
			return
		}
		require.GreaterOrEqual(t, len(trimmed), PassphraseMin)
	})
}

// goldenPassphrase is the key of "correct horse battery staple".
const goldenPassphrase = "69db963469430cfb4831422b690f3d130af24c82bfe84ca526f83353df7196e7"
