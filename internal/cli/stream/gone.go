package stream

import (
	"errors"
	"fmt"
)

// ErrGone: the other side died or left amid the transfer. It stands for any error of the
// method, which depends on what noticed first.
var ErrGone = errors.New("the other side is gone")

// gone says that the other side, a sender or a receiver, is gone after so many bytes.
func gone(side string, bytes int64, err error) error {
	return &goneError{fmt.Errorf("the %s is gone after %d bytes: %w", side, bytes, err)}
}

// A goneError is an ErrGone in words of its own.
type goneError struct{ error }

func (e *goneError) Is(target error) bool { return target == ErrGone }
func (e *goneError) Unwrap() error        { return e.error }
