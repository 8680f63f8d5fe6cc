package bmi

import "errors"

// Errors that callers may test for with errors.Is. Methods wrap them with the
// peer and the cause.
var (
	// ErrTruncated: a receive was shorter than its message. The rest of the message is
	// lost; no other operation is affected. Completion.Size is the full length of the
	// message.
	ErrTruncated = errors.New("bmi: message is longer than the receive buffer")
	// ErrCancelled: the operation was cancelled.
	ErrCancelled = errors.New("bmi: operation cancelled")
	// ErrPeerFailed: the connection broke, or the process at its other end died.
	ErrPeerFailed = errors.New("bmi: connection to the peer failed")
	// ErrUnreachable: no endpoint answers at the address.
	ErrUnreachable = errors.New("bmi: nobody answers at this address")
	// ErrRefused: the peer answered and refused the connection.
	ErrRefused = errors.New("bmi: the peer refused the connection")
	// ErrVersion: the peer speaks another version of the protocol.
	ErrVersion = errors.New("bmi: the peer speaks another protocol version, run the same release on both sides")
	// ErrProtocol: the peer sent something that the protocol forbids and was disconnected.
	ErrProtocol = errors.New("bmi: the peer broke the protocol")
	// ErrDropped: the address was dropped with DropAddr; look it up again.
	ErrDropped = errors.New("bmi: address was dropped, look it up again")
	// ErrClosed: the endpoint or context is closed.
	ErrClosed = errors.New("bmi: closed")

	// ErrTooLarge: the message is over the method's limit (MaxExpectedSize,
	// MaxUnexpectedSize).
	ErrTooLarge = errors.New("bmi: message is over the method's limit")
	// ErrBadAddress: the text is not an address of a known method.
	ErrBadAddress = errors.New("bmi: bad address")
	// ErrUnknownMethod: no method of this name is linked in or loaded.
	ErrUnknownMethod = errors.New("bmi: unknown method")
	// ErrNameTaken: another process listens under this name.
	ErrNameTaken = errors.New("bmi: name is taken by a running process, choose another")
	// ErrUnknownOp: no such operation is pending in this context.
	ErrUnknownOp = errors.New("bmi: no such operation is pending")
	// ErrNotSupported: the method cannot do this.
	ErrNotSupported = errors.New("bmi: the method cannot do this")
	// ErrInvalid: an argument makes no sense.
	ErrInvalid = errors.New("bmi: invalid argument")
	// ErrAgain is back-pressure: nothing was accepted, test and try again.
	ErrAgain = errors.New("bmi: limit of pending operations reached, test and try again")
)
