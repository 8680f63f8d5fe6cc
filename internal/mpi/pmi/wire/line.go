package wire

import "strings"

// AppendLine appends a command in the form of PMI-1, a line with its end. Values must not contain
// blanks, except the last one, which may have what Words leaves.
func AppendLine(dst []byte, c Command) ([]byte, error) {
	start := len(dst)
	if !isName(c.Name) {
		return dst, malformed("%q is no name of a command", c.Name)
	}
	out := append(append(dst, "cmd="...), c.Name...)
	for i, p := range c.Pairs {
		last := i == len(c.Pairs)-1
		if !isName(p.Key) || p.Key == "cmd" {
			return dst, malformed("%q is no key", p.Key)
		}
		if !lineValue(p.Value, last) {
			return dst, malformed("the value of %s has a blank or the end of a line: %q", p.Key, p.Value)
		}
		out = append(append(append(append(out, ' '), p.Key...), '='), p.Value...)
	}
	out = append(out, '\n')
	if len(out)-start > LineBytesMax {
		return dst, ErrTooLong
	}
	return out, nil
}

// lineValue tells whether a value is unchanged after its line is split at blanks.
func lineValue(value string, last bool) bool {
	if strings.ContainsAny(value, "\n\r\x00") {
		return false
	}
	if !strings.Contains(value, " ") {
		return true
	}
	words := strings.Split(value, " ")
	for i, word := range words {
		if word == "" || i > 0 && strings.Contains(word, "=") {
			return false
		}
	}
	return last
}

// ParseLine parses a line, with or without its end. A word without '=' belongs to the value before
// it, as in the message of an abort.
func ParseLine(line []byte) (Command, error) {
	if len(line) > LineBytesMax {
		return Command{}, ErrTooLong
	}
	text := strings.TrimSuffix(string(line), "\n")
	if strings.ContainsAny(text, "\n\r\x00") {
		return Command{}, malformed("control characters in %q", shorten(text))
	}
	var c Command
	for word := range strings.SplitSeq(text, " ") {
		key, value, pair := strings.Cut(word, "=")
		switch {
		case word == "": // repeated or trailing blanks
		case c.Name == "":
			if key != "cmd" || !isName(value) {
				return Command{}, malformed("%q does not begin with cmd=NAME", shorten(text))
			}
			c.Name = value
		case pair:
			if !isName(key) || key == "cmd" {
				return Command{}, malformed("%q is no key", shorten(key))
			}
			c.Pairs = append(c.Pairs, Pair{key, value})
		case len(c.Pairs) == 0:
			return Command{}, malformed("%q has no key", shorten(word))
		default:
			last := &c.Pairs[len(c.Pairs)-1]
			last.Value += " " + word
		}
	}
	if c.Name == "" {
		return Command{}, malformed("an empty line")
	}
	return c, nil
}
