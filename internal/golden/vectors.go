package golden

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
)

// A Vector is one named string of bytes.
type Vector struct {
	// Comment is the comment above the vector in the file, if not empty.
	Comment string
	// Name is one word without a colon.
	Name  string
	Bytes []byte
}

// bytesPerLine keeps the lines of a file short; groupBytes sets words apart.
const (
	bytesPerLine = 32
	groupBytes   = 4
)

// Format writes vectors as Parse reads them:
//
//	# A comment belongs to the vector below it.
//	name: 0001 0203
//	long: 00010203 04050607
//	      08090a0b
//
// Blanks between hex digits are ignored; a line that starts with a blank
// continues the vector above.
func Format(vectors []Vector) []byte {
	var out bytes.Buffer
	for i, v := range vectors {
		if i > 0 {
			out.WriteByte('\n')
		}
		if v.Comment != "" {
			for _, line := range strings.Split(v.Comment, "\n") {
				fmt.Fprintf(&out, "%s\n", strings.TrimRight("# "+line, " "))
			}
		}
		out.WriteString(v.Name + ":")
		for off, b := range v.Bytes {
			switch {
			case off > 0 && off%bytesPerLine == 0:
				out.WriteString("\n" + strings.Repeat(" ", len(v.Name)+2))
			case off%groupBytes == 0:
				out.WriteByte(' ')
			}
			fmt.Fprintf(&out, "%02x", b)
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// Parse reads vectors as Format writes them. Names must be unique.
func Parse(text []byte) ([]Vector, error) {
	var (
		vectors []Vector
		comment []string
		digits  string
		seen    = make(map[string]bool)
	)
	finish := func(line int) error {
		if len(vectors) == 0 {
			return nil
		}
		raw, err := hex.DecodeString(digits)
		if err != nil {
			return fmt.Errorf("golden: vector %q, which ends before line %d: %w", vectors[len(vectors)-1].Name, line, err)
		}
		vectors[len(vectors)-1].Bytes = raw
		digits = ""
		return nil
	}
	for i, line := range strings.Split(string(text), "\n") {
		number := i + 1
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "":
		case trimmed[0] == '#':
			comment = append(comment, strings.TrimPrefix(trimmed[1:], " "))
		case line[0] == ' ' || line[0] == '\t':
			if len(vectors) == 0 {
				return nil, fmt.Errorf("golden: line %d continues a vector, but none was begun", number)
			}
			digits += strings.Join(strings.Fields(trimmed), "")
		default:
			if err := finish(number); err != nil {
				return nil, err
			}
			name, rest, ok := strings.Cut(line, ":")
			switch {
			case !ok:
				return nil, fmt.Errorf("golden: line %d has no name and colon", number)
			case name == "" || strings.ContainsAny(name, " \t"):
				return nil, fmt.Errorf("golden: line %d: name %q is not one word", number, name)
			case seen[name]:
				return nil, fmt.Errorf("golden: line %d: second vector with the name %q", number, name)
			}
			seen[name] = true
			vectors = append(vectors, Vector{Comment: strings.Join(comment, "\n"), Name: name})
			comment = nil
			digits = strings.Join(strings.Fields(rest), "")
		}
	}
	if err := finish(strings.Count(string(text), "\n") + 1); err != nil {
		return nil, err
	}
	return vectors, nil
}

// CheckVectors is Check for vectors.
func CheckVectors(t testing.TB, path string, got []Vector) {
	t.Helper()
	Check(t, path, Format(got))
}

// Load reads the vectors of a file and fails the test if it cannot.
func Load(t testing.TB, path string) []Vector {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("golden: %v", err)
		return nil
	}
	vectors, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
		return nil
	}
	return vectors
}
