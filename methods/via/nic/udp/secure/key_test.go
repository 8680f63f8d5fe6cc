package secure

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func keyFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	require.NoError(t, os.Chmod(name, mode))
	return name
}

func TestKeyErrorsSayWhatToDo(t *testing.T) {
	good := strings.Repeat("a1", keyBytes)
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for name, c := range map[string]struct {
		source Source
		want   string
	}{
		"none":         {Source{}, "no shared key is given"},
		"both":         {Source{File: "x", Text: good}, "choose one"},
		"no such file": {Source{File: filepath.Join(dir, "nothing")}, "no such file"},
		"folder":       {Source{File: dir}, "not a regular file"},
		"pipe":         {Source{File: pipe}, "not a regular file"},
		"for group":    {Source{File: keyFile(t, good, 0o640)}, "chmod 600"},
		"for others":   {Source{File: keyFile(t, good, 0o604)}, "chmod 600"},
		"long":         {Source{File: keyFile(t, strings.Repeat(good, 100), 0o600)}, "longer than"},
		"empty":        {Source{File: keyFile(t, " \n", 0o600)}, "0 characters are too short"},
		"short":        {Source{Text: "fifteen letters"}, "15 characters are too short"},
		"short, wide":  {Source{Text: strings.Repeat("ü", 15)}, "15 characters are too short"},
		"zeros":        {Source{Text: strings.Repeat("0", 2*keyBytes)}, "head -c 32"},
		"zeros 64":     {Source{Text: base64.StdEncoding.EncodeToString(make([]byte, keyBytes))}, "head -c 32"},
		"one letter":   {Source{Text: strings.Repeat("x", 20)}, "repeated"},
	} {
		t.Run(name, func(t *testing.T) {
			key, err := c.source.Load()
			assert.Nil(t, key)
			require.ErrorContains(t, err, c.want)
			assert.True(t, strings.HasPrefix(err.Error(), "secure: "), "%s", err)
			assert.NotContains(t, err.Error(), good)
			assert.NotContains(t, err.Error(), "fifteen letters")
		})
	}
}

// The same key, in all its spellings.
func TestKeyForms(t *testing.T) {
	var raw [keyBytes]byte
	for i := range raw {
		raw[i] = byte(200 + 3*i)
	}
	want, err := Source{Text: hex.EncodeToString(raw[:])}.Load()
	require.NoError(t, err)
	for _, text := range []string{
		strings.ToUpper(hex.EncodeToString(raw[:])), base64.StdEncoding.EncodeToString(raw[:]), base64.RawStdEncoding.EncodeToString(raw[:]),
		base64.URLEncoding.EncodeToString(raw[:]), base64.RawURLEncoding.EncodeToString(raw[:]),
	} {
		got, err := Source{Text: text}.Load()
		require.NoError(t, err)
		assert.Equal(t, want, got, text)
		for _, mode := range []os.FileMode{0o600, 0o400} {
			got, err = Source{File: keyFile(t, "\n "+text+"\r\n", mode)}.Load()
			require.NoError(t, err)
			assert.Equal(t, want, got, text)
		}
	}
	assert.NotContains(t, string(want.root[:]), string(raw[:8]), "what is used is derived")
}

func TestPassphrase(t *testing.T) {
	a, err := Source{Text: "correct horse battery"}.Load()
	require.NoError(t, err)
	same, err := Source{File: keyFile(t, "correct horse battery\n", 0o600)}.Load()
	require.NoError(t, err)
	assert.Equal(t, a, same)
	b, err := Source{Text: "correct horse batterz"}.Load()
	require.NoError(t, err)
	assert.NotEqual(t, a, b)
	for _, n := range []int{64, 44, 43} { // as long as a key, but none
		_, err := Source{Text: strings.Repeat("?!", n)[:n]}.Load()
		assert.NoError(t, err)
	}
}

func TestKeysDoNotShow(t *testing.T) {
	key := testKey(t, "a")
	source := Source{File: "name", Text: "correct horse battery"}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		for _, one := range []any{key, *key, Config{Key: key}, &Config{Key: key}, []*Key{key}} {
			text := fmt.Sprintf(verb, one)
			assert.NotContains(t, text, fmt.Sprint(key.root[:4])[1:8])
			assert.NotContains(t, text, fmt.Sprintf("%x", key.root[:4]))
		}
		assert.Contains(t, fmt.Sprintf(verb, key), "hidden")
		for _, one := range []any{source, &source, struct{ Key Source }{source}} {
			text := fmt.Sprintf(verb, one)
			assert.Contains(t, text, "name")
			assert.NotContains(t, text, "horse")
			assert.NotContains(t, text, fmt.Sprintf("%x", "horse"))
		}
	}
	text, err := json.Marshal(source)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "horse")
}

func BenchmarkPassphrase(b *testing.B) {
	for b.Loop() {
		_, _ = Source{Text: "correct horse battery"}.Load()
	}
}
