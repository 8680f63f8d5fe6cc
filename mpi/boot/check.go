package boot

import (
	"strings"

	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// CheckPair returns an error unless a key and a value can be put. Every Boot calls it first, so
// that a program that works under one launcher works under all of them.
func CheckPair(b Boot, key, value string) error {
	if err := CheckText("key", key, b.KeyMax()); err != nil {
		return err
	}
	return CheckText("value", value, b.ValueMax())
}

// CheckText returns an error unless text is valid for every launcher: at most max bytes, not empty,
// and printable ASCII without blanks, '=' or ';'.
func CheckText(what, text string, max int) error {
	switch {
	case text == "":
		return errclass.New(errclass.Arg, "an empty %s cannot be given to the others of a job", what)
	case len(text) > max:
		return errclass.New(errclass.ValueTooLarge, "a %s of %d bytes is longer than the launcher's limit of %d: split it", what, len(text), max)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '=' || r == ';' }):
		return errclass.New(errclass.Arg, "the %s %.40q has characters other than printable ASCII, or a blank, '=' or ';': encode it, for instance as hexadecimal digits", what, text)
	}
	return nil
}
