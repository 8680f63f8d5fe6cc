// Package fault makes errors that say a thing once. An error that crosses several layers belongs to a kind of error in each of
// them, which programs test for with errors.Is. If every layer also adds the text of its kind, the user reads the same fact in
// four wordings. A marked error has the kinds without their texts.
package fault

import "fmt"

// Mark returns an error with the text of err that is also of the kinds, for errors.Is and errors.As.
func Mark(err error, kinds ...error) error { return &marked{err, kinds} }

// Markf is Mark for a text that is formatted as by fmt.Errorf.
func Markf(kind error, format string, args ...any) error {
	return Mark(fmt.Errorf(format, args...), kind)
}

type marked struct {
	error
	kinds []error
}

func (m *marked) Unwrap() []error { return append([]error{m.error}, m.kinds...) }
