package nic

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKeyIsHidden: printing a key, or a value that contains one, does not show it.
func TestKeyIsHidden(t *testing.T) {
	type options struct{ Key Key }
	key := Key("0123456789abcdef0123456789abcdef")
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		for _, value := range []any{key, options{key}, &options{key}, []Key{key}} {
			text := fmt.Sprintf(format, value)
			assert.Contains(t, text, "hidden", format)
			assert.NotContains(t, text, "3031", format)
			assert.NotContains(t, text, "0123", format)
			assert.NotContains(t, text, "48 49", format)
		}
	}
	text, err := json.Marshal(options{key})
	require.NoError(t, err)
	assert.JSONEq(t, `{"Key": "Key(hidden)"}`, string(text))
}
