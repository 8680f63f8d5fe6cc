package stream

import (
	"errors"
	"fmt"
)

// ErrGone: the other side died or left during the transfer. It replaces the method's
// error, which depends on what noticed first.
var ErrGone = errors.New("the other side is gone")

// gone says that the other side, a sender or a receiver, ended after a number of bytes.
func gone(side string, bytes int64, err error) error {
	return &goneError{fmt.Errorf("the %s is gone after %d bytes: %w", side, bytes, err)}
}

// A goneError is an ErrGone with its own text.
type goneError struct{ error }

func (e *goneError) Is(target error) bool { return target == ErrGone }
func (e *goneError) Unwrap() error        { return e.error }
