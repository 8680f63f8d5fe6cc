package wire

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
)

// Status is the result of an operation: success, or one of the errors of package bmi.
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
	// StatusOther is an error without a name in package bmi.
	StatusOther
	statusEnd
)

// statusErrors are the errors by status.
var statusErrors = [statusEnd]error{
	StatusTruncated: bmi.ErrTruncated, StatusCancelled: bmi.ErrCancelled, StatusPeerFailed: bmi.ErrPeerFailed,
	StatusUnreachable: bmi.ErrUnreachable, StatusRefused: bmi.ErrRefused, StatusVersion: bmi.ErrVersion,
	StatusProtocol: bmi.ErrProtocol, StatusDropped: bmi.ErrDropped, StatusClosed: bmi.ErrClosed,
	StatusTooLarge: bmi.ErrTooLarge, StatusBadAddress: bmi.ErrBadAddress, StatusNameTaken: bmi.ErrNameTaken,
	StatusNotSupported: bmi.ErrNotSupported, StatusInvalid: bmi.ErrInvalid,
}

// StatusOf returns the status of an error.
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
	// TextMax limits the text of an error, in bytes; longer ones are cut.
	TextMax = 1 << 10
	// AddressMax limits the text of an address, in bytes.
	AddressMax = 4 << 10
)

// Err returns the error of a status and its text, nil for StatusOK.
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

// A remoteError is an error of another process. Its text comes from there, and already names the
// error of package bmi.
type remoteError struct {
	is   error // nil if it is none of package bmi
	text string
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.is }
