package about

import (
	"unicode"
	"unicode/utf8"
)

// Limits of what an untrusted process may say of itself.
const (
	nameBytesMax = 128
	textBytesMax = 512
)

// Valid tells whether a Count of an untrusted process can be shown: it must have a name such as others
// have, a text that can be printed, one value, and a class that needs nothing else.
func (c *Count) Valid() bool {
	switch c.Class {
	case Counter, Level, Size, Timer, Generic:
	default:
		return false
	}
	if c.Name == "" || len(c.Name) > nameBytesMax || len(c.Text) > textBytesMax || !utf8.ValidString(c.Text) || len(c.Values) != 1 || len(c.States) > 0 {
		return false
	}
	for _, b := range []byte(c.Name) {
		if (b < 'a' || b > 'z') && (b < '0' || b > '9') && b != '_' && b != '.' {
			return false
		}
	}
	for _, r := range c.Text {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
