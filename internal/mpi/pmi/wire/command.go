package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A Command is a request or an answer: a name, and keys with values, in order.
type Command struct {
	Name  string
	Pairs []Pair
}

// A Pair is a key with its value.
type Pair struct{ Key, Value string }

// Errors of bytes from the other side, and of a Command that cannot be written.
var (
	ErrMalformed = errors.New("malformed PMI command")
	ErrTooLong   = errors.New("PMI command too long")
)

// New makes a Command from alternating keys and values.
func New(name string, keysAndValues ...string) Command {
	c := Command{Name: name}
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		c.Pairs = append(c.Pairs, Pair{keysAndValues[i], keysAndValues[i+1]})
	}
	return c
}

// Get returns the first value of a key.
func (c Command) Get(key string) (string, bool) {
	for _, p := range c.Pairs {
		if p.Key == key {
			return p.Value, true
		}
	}
	return "", false
}

// Int returns the number of a key; ok is false if there is none, or if it is not a number.
func (c Command) Int(key string) (n int, ok bool) {
	text, _ := c.Get(key)
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// String returns the command for messages and logs, as in PMI-1 but with any contents.
func (c Command) String() string {
	var b strings.Builder
	b.WriteString("cmd=" + quote(c.Name))
	for _, p := range c.Pairs {
		b.WriteString(" " + quote(p.Key) + "=" + quote(p.Value))
	}
	return b.String()
}

// Words makes a text valid as the last value of a Command in either protocol.
func Words(text string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '=' || r == ';':
			return ':'
		case r <= ' ' || r == 0x7f:
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(clean), " ")
}

// isName tells whether text can be a command's name or a key: 1 to 64 letters, digits, '-' and '_'.
func isName(text string) bool {
	if text == "" || len(text) > 64 {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}

// quote returns text of the other side for an error: shortened, and quoted if necessary.
func quote(text string) string {
	text = shorten(text)
	if q := strconv.Quote(text); len(q) > len(text)+2 || strings.Contains(text, " ") {
		return q
	}
	return text
}

// shorten cuts a text to a recognizable beginning.
func shorten(text string) string {
	if len(text) > quoteBytesMax {
		return text[:quoteBytesMax] + "..."
	}
	return text
}
