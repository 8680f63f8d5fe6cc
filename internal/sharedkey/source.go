package sharedkey

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/viaduct-hpc/viaduct/internal/keyfile"
)

// A Source says where a key is; exactly one of the two fields is set.
type Source struct {
	// File is the name of a file with the key, readable by its owner only.
	File string
	// Text is the key itself.
	Text string `json:"-"` // so that it is not in logs
}

// Errors of Load.
var (
	// ErrNone: a Source is empty. The caller knows how to give a key.
	ErrNone = errors.New("no key is given")
	// errBoth: the caller knows what the two are called.
	errBoth = errors.New("a key and a file with one are both given; choose one")
	// errNotAFile does not repeat the name, which is a key.
	errNotAFile = errors.New("the name of a file is expected, and this is a key itself: put it into a file that only you can read (chmod 600), and give its name")
)

// Load reads the key. Its errors say what to do, and never show the key.
func (s Source) Load() (Key, error) {
	switch {
	case s.File != "" && s.Text != "":
		return Key{}, errBoth
	case s.File != "":
		return load(s.File)
	case s.Text != "":
		return Parse([]byte(s.Text))
	}
	return Key{}, ErrNone
}

func load(name string) (Key, error) {
	text, err := keyfile.Secret(name, FileBytesMax)
	if err != nil {
		if _, is := Decode([]byte(name)); is && errors.Is(err, fs.ErrNotExist) {
			return Key{}, errNotAFile
		}
		return Key{}, err
	}
	defer clear(text)
	key, err := Parse(text)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", name, err)
	}
	return key, nil
}

// Format prints the name of the file, and keeps the text out of logs.
func (s Source) Format(f fmt.State, _ rune) {
	file, text := s.File, ""
	if _, is := Decode([]byte(file)); is {
		file = "hidden" // a key in the wrong place
	}
	if s.Text != "" {
		text = "hidden"
	}
	_, _ = fmt.Fprintf(f, "Source(file %q, text %q)", file, text)
}
