package errclass

import "fmt"

// An Error is the error of a call: its class, a sentence that says what happened and what to do,
// and the underlying error, if any.
type Error struct {
	Class Class
	Text  string
	Err   error // may be nil
}

// Error implements error: "mpi: MPI_ERR_RANK: ...".
func (e *Error) Error() string { return fmt.Sprintf("mpi: %v: %s", e.Class, e.sentence()) }

// sentence returns what happened, with the underlying errors. It does not repeat the package and
// the class.
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

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// New makes an error without an underlying one.
func New(c Class, format string, args ...any) *Error {
	return &Error{Class: c, Text: fmt.Sprintf(format, args...)}
}

// Wrap makes an error with an underlying one, for example of bmi.
func Wrap(c Class, err error, format string, args ...any) *Error {
	return &Error{Class: c, Text: fmt.Sprintf(format, args...), Err: err}
}

// Of returns the class of an error: Success for nil, Other for one without a class.
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
