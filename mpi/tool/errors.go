package tool

import "fmt"

// A Code is an error code of the tools interface (MPI-4.1, 15.3.10). It is itself an error, so
// errors.Is(err, ErrInvalidName) tells whether err has that code.
type Code string

// Codes. Those that the standard has for arguments which Go's types rule out do not occur.
const (
	ErrInvalid         Code = "MPI_T_ERR_INVALID"
	ErrNotInitialized  Code = "MPI_T_ERR_NOT_INITIALIZED"
	ErrInvalidName     Code = "MPI_T_ERR_INVALID_NAME"
	ErrInvalidHandle   Code = "MPI_T_ERR_INVALID_HANDLE"
	ErrInvalidSession  Code = "MPI_T_ERR_INVALID_SESSION"
	ErrCvarSetNever    Code = "MPI_T_ERR_CVAR_SET_NEVER"
	ErrPvarNoStartStop Code = "MPI_T_ERR_PVAR_NO_STARTSTOP"
	ErrPvarNoWrite     Code = "MPI_T_ERR_PVAR_NO_WRITE"
)

// Error implements error.
func (c Code) Error() string { return string(c) }

// An Error is an error of the tools interface: a code and a sentence.
type Error struct {
	Code Code
	Text string
	Err  error // the cause; may be nil
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("mpi/tool: %s: %s", e.Code, e.Text)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Is tells whether target is the error's code.
func (e *Error) Is(target error) bool { return target == error(e.Code) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func fail(code Code, format string, args ...any) error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}
