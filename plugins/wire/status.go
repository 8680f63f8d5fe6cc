package wire

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Status says how an operation ended: well, or with one of the errors of package bmi.
type Status uint8

const (
	StatusOK Status = iota
	StatusTruncated
	StatusCancelled
	StatusPeerFailed
	StatusUnreachable
	StatusRefused
	StatusVersion
	StatusProtocol
	StatusDropped
	StatusClosed
	StatusTooLarge
	StatusBadAddress
	StatusNameTaken
	StatusNotSupported
	StatusInvalid
	// StatusOther is an error that package bmi does not name.
	StatusOther
	statusEnd
)

// statusErrors are the errors that have a status, by it.
var statusErrors = [statusEnd]error{
	StatusTruncated: bmi.ErrTruncated, StatusCancelled: bmi.ErrCancelled, StatusPeerFailed: bmi.ErrPeerFailed,
	StatusUnreachable: bmi.ErrUnreachable, StatusRefused: bmi.ErrRefused, StatusVersion: bmi.ErrVersion,
	StatusProtocol: bmi.ErrProtocol, StatusDropped: bmi.ErrDropped, StatusClosed: bmi.ErrClosed,
	StatusTooLarge: bmi.ErrTooLarge, StatusBadAddress: bmi.ErrBadAddress, StatusNameTaken: bmi.ErrNameTaken,
	StatusNotSupported: bmi.ErrNotSupported, StatusInvalid: bmi.ErrInvalid,
}

// StatusOf is the status that tells of an error.
func StatusOf(err error) Status {
	if err == nil {
		return StatusOK
	}
	for s, known := range statusErrors {
		if known != nil && errors.Is(err, known) {
			return Status(s)
		}
	}
	return StatusOther
}

func (s Status) String() string {
	switch {
	case s == StatusOK:
		return "ok"
	case s < statusEnd && statusErrors[s] != nil:
		return statusErrors[s].Error()
	case s == StatusOther:
		return "another error"
	}
	return fmt.Sprintf("status %d", uint8(s))
}

const (
	// TextMax bounds the text of an error, in bytes; what is longer is cut.
	TextMax = 1 << 10
	// AddressMax bounds the text of an address, in bytes.
	AddressMax = 4 << 10
)

// Err is the error that a status and its text tell of, nil for StatusOK.
func (s Status) Err(text string) error {
	if s == StatusOK {
		return nil
	}
	e := &remoteError{text: text}
	if s < statusEnd {
		e.is = statusErrors[s]
	}
	if e.text == "" {
		e.text = s.String()
	}
	return e
}

// A remoteError is an error of another process. Its text is what was said there, which
// names the error of package bmi already.
type remoteError struct {
	is   error // nil: none of package bmi
	text string
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.is }
