package secure

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKeyIsDerived: packets are not protected by the shared key itself, but by keys derived from
// it.
func TestKeyIsDerived(t *testing.T) {
	raw := []byte(strings.Repeat("8 bytes.", keyBytes/8))
	key, err := LoadKey(Source{Text: base64.StdEncoding.EncodeToString(raw)})
	require.NoError(t, err)
	assert.NotContains(t, string(key.root[:]), "8 bytes.")
	_, err = LoadKey(Source{})
	require.ErrorIs(t, err, ErrNoKey)
	key, err = LoadKey(Source{Text: "short"})
	require.ErrorContains(t, err, "shared key: 5 characters are too short")
	assert.Nil(t, key)
}

func TestKeysDoNotShow(t *testing.T) {
	key := testKey(t, "a")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
		for _, one := range []any{key, *key, Config{Key: key}, &Config{Key: key}, []*Key{key}} {
			text := fmt.Sprintf(verb, one)
			assert.NotContains(t, text, fmt.Sprint(key.root[:4])[1:8])
			assert.NotContains(t, text, fmt.Sprintf("%x", key.root[:4]))
		}
		assert.Contains(t, fmt.Sprintf(verb, key), "hidden")
	}
}
