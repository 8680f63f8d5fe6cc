package nic

import (
	"fmt"
	"io"
)

// KeyBytes is the length of a Key.
const KeyBytes = 32

// A Key is KeyBytes random bytes that all sides of a Keyed provider share. It hides itself when
// printed.
type Key []byte

// Format keeps a key out of logs, for every verb and inside other values.
func (Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "Key(hidden)") }

// MarshalText keeps a key out of text encodings, such as JSON.
func (Key) MarshalText() ([]byte, error) { return []byte("Key(hidden)"), nil }
