package errclass

import "fmt"

// An Error is a failed call: its class, what happened in a sentence that says what to do,
// and the error below it, if any.
type Error struct {
	Class Class
	Text  string
	Err   error // may be nil
}

// Error implements error: "mpi: MPI_ERR_RANK: ...".
func (e *Error) Error() string { return fmt.Sprintf("mpi: %v: %s", e.Class, e.sentence()) }

// sentence is what happened, down to the error at the bottom. What has been said above, the
// package and the class, is not said again.
func (e *Error) sentence() string {
	below, ours := e.Err.(*Error)
	switch {
	case e.Err == nil:
		return e.Text
	case !ours:
		return fmt.Sprintf("%s: %v", e.Text, e.Err)
	case below.Class == e.Class:
		return e.Text + ": " + below.sentence()
	}
	return fmt.Sprintf("%s: %v: %s", e.Text, below.Class, below.sentence())
}

// Is reports whether target is the error's class.
func (e *Error) Is(target error) bool {
	c, ok := target.(Class)
	return ok && c == e.Class
}

// Unwrap is the error below.
func (e *Error) Unwrap() error { return e.Err }

// New makes an error without one below.
func New(c Class, format string, args ...any) *Error {
	return &Error{Class: c, Text: fmt.Sprintf(format, args...)}
}

// Wrap makes an error of one from below, say of bmi.
func Wrap(c Class, err error, format string, args ...any) *Error {
	return &Error{Class: c, Text: fmt.Sprintf(format, args...), Err: err}
}

// Of is the class of an error: Success of nil, Other of one that has none.
func Of(err error) Class {
	for err != nil {
		switch e := err.(type) {
		case *Error:
			return e.Class
		case Class:
			return e
		case interface{ Unwrap() error }:
			err = e.Unwrap()
			continue
		}
		return Other
	}
	return Success
}
