package config

import (
	"fmt"
	"strings"
)

// directive is one line of the text that is not empty or a comment.
type directive struct {
	file string // name of the file, if known
	line int
	name string // lower case; "<filesystem>" and "</filesystem>" for sections
	text string // the name as written
	args []string
}

// value is all arguments, separated by single blanks.
func (d directive) value() string { return strings.Join(d.args, " ") }

// list is the arguments without commas.
func (d directive) list() []string {
	return strings.FieldsFunc(d.value(), func(r rune) bool { return r == ' ' || r == ',' })
}

// scan splits a text into directives. A comment begins with # and goes to the end of the line. An argument may be in quotation
// marks.
func scan(text, file string) ([]directive, error) {
	var found []directive
	number := 0
	for line := range strings.Lines(text) {
		number++
		words, err := split(line)
		if err != nil {
			return nil, directive{file: file, line: number}.problemf("%v", err)
		}
		if len(words) == 0 {
			continue
		}
		found = append(found, directive{
			file: file, line: number, name: strings.ToLower(words[0]), text: words[0], args: words[1:],
		})
	}
	return found, nil
}

// split splits a line into words.
func split(line string) (words []string, err error) {
	for {
		line = strings.TrimLeft(line, " \t\r\n\v\f")
		if line == "" || line[0] == '#' {
			return words, nil
		}
		if line[0] == 0 {
			return nil, fmt.Errorf("a zero byte")
		}
		if quote := line[0]; quote == '"' || quote == '\'' {
			end := strings.IndexByte(line[1:], quote)
			if end < 0 {
				return nil, fmt.Errorf("a quotation mark without its partner")
			}
			words, line = append(words, line[1:1+end]), line[end+2:]
			continue
		}
		end := strings.IndexAny(line, " \t\r\n\v\f\x00")
		if end < 0 {
			end = len(line)
		}
		words, line = append(words, line[:end]), line[end:]
	}
}
