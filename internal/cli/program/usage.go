package program

import (
	"errors"
	"fmt"
)

// ErrUsage marks a mistake in the command line, or in a file that it names.
var ErrUsage = errors.New("bad command line")

// Usage marks an error as a mistake in the command line. Its text does not
// change.
func Usage(err error) error { return usageError{err} }

// Usagef makes an error for a mistake in the command line.
func Usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

type usageError struct{ error }

func (usageError) Is(target error) bool { return target == ErrUsage }
func (e usageError) Unwrap() error      { return e.error }
