package program

import (
	"errors"
	"fmt"
)

// ErrUsage marks a mistake in the command line, or in a file that it names.
var ErrUsage = errors.New("bad command line")

// Usage makes an error a mistake in the command line. Its words stay as they are.
func Usage(err error) error { return usageError{err} }

// Usagef is a mistake in the command line, in words that stand alone.
func Usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

type usageError struct{ error }

func (usageError) Is(target error) bool { return target == ErrUsage }
func (e usageError) Unwrap() error      { return e.error }
