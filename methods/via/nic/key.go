package nic

import (
	"fmt"
	"io"
)

// KeyBytes is the length of a Key.
const KeyBytes = 32

// A Key is KeyBytes random bytes that all sides of a Keyed provider share. It never shows itself.
type Key []byte

// Format keeps a key out of logs, whatever it is formatted by and part of.
func (Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "Key(hidden)") }

// MarshalText keeps it out of encodings as text, such as JSON.
func (Key) MarshalText() ([]byte, error) { return []byte("Key(hidden)"), nil }
