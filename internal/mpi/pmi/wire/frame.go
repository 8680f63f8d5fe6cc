package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// AppendFrame appends a command in the form of PMI-2: its length in six characters, then key=value
// pairs, each ended by ';'. A ';' in a value is doubled; not all launchers accept that, so avoid
// it.
func AppendFrame(dst []byte, c Command) ([]byte, error) {
	if !isName(c.Name) {
		return dst, malformed("%q is no name of a command", c.Name)
	}
	out := append(dst, "      cmd="...)
	out = append(append(out, c.Name...), ';')
	for _, p := range c.Pairs {
		if !isName(p.Key) || p.Key == "cmd" {
			return dst, malformed("%q is no key", p.Key)
		}
		if strings.ContainsAny(p.Value, "\n\r\x00") {
			return dst, malformed("the value of %s has the end of a line: %q", p.Key, p.Value)
		}
		out = append(append(out, p.Key...), '=')
		out = append(append(out, strings.ReplaceAll(p.Value, ";", ";;")...), ';')
	}
	n := len(out) - len(dst) - FrameHeadBytes
	if n > FrameBytesMax {
		return dst, ErrTooLong
	}
	copy(out[len(dst):], fmt.Sprintf("%-*d", FrameHeadBytes, n))
	return out, nil
}

// ParseFrameHead reads the length prefix of a command, 1 ≤ n ≤ FrameBytesMax.
func ParseFrameHead(head [FrameHeadBytes]byte) (n int, err error) {
	digits := strings.Trim(string(head[:]), " ")
	n, err = strconv.Atoi(digits)
	if err != nil || n < 1 || digits[0] == '+' {
		return 0, malformed("%q is no length of a command", head[:])
	}
	if n > FrameBytesMax {
		return 0, fmt.Errorf("%w: %d bytes, %d are allowed", ErrTooLong, n, FrameBytesMax)
	}
	return n, nil
}

// ParseFrame parses the bytes after the length.
func ParseFrame(body []byte) (Command, error) {
	if len(body) > FrameBytesMax {
		return Command{}, ErrTooLong
	}
	text := string(body)
	if strings.ContainsAny(text, "\n\r\x00") {
		return Command{}, malformed("control characters in %q", shorten(text))
	}
	var c Command
	for text != "" {
		key, rest, ok := strings.Cut(text, "=")
		if !ok || !isName(key) {
			return Command{}, malformed("%q is no key with a value", shorten(text))
		}
		var value string
		if value, text, ok = cutValue(rest); !ok {
			return Command{}, malformed("the value of %s has no end", key)
		}
		if (key == "cmd") != (c.Name == "") || key == "cmd" && !isName(value) {
			return Command{}, malformed("%q is not at its place, or no name", shorten(key+"="+value))
		}
		if c.Name == "" {
			c.Name = value
		} else {
			c.Pairs = append(c.Pairs, Pair{key, value})
		}
	}
	if c.Name == "" {
		return Command{}, malformed("an empty command")
	}
	return c, nil
}

// cutValue cuts a value at the ';' that ends it: the last one of an odd number.
func cutValue(text string) (value, rest string, ok bool) {
	for i := 0; i < len(text); i++ {
		if text[i] != ';' {
			continue
		}
		if i+1 < len(text) && text[i+1] == ';' {
			i++
			continue
		}
		return strings.ReplaceAll(text[:i], ";;", ";"), text[i+1:], true
	}
	return "", "", false
}
