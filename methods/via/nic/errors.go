package nic

import (
	"errors"
	"fmt"
)

// Errors that any provider may return. Providers wrap them with details.
var (
	// ErrAgain is back-pressure: nothing was accepted, try after a Poll.
	ErrAgain = errors.New("nic: queue full, poll and try again")
	// ErrBusy: registered memory is being accessed remotely right now.
	ErrBusy = errors.New("nic: memory is in use by a remote side, poll and try again")
	// ErrNotConnected: the port cannot send in its present state.
	ErrNotConnected = errors.New("nic: port is not connected")
	// ErrUnreachable: no process listens at the address.
	ErrUnreachable = errors.New("nic: nobody listens at this address")
	// ErrBadAddress: the text is not an address, or not an address of this machine.
	ErrBadAddress = errors.New("not an address of this kind")
	// ErrKey: the two sides have different secrets, or one side has none.
	ErrKey = errors.New("nic: both sides need the same shared key")
	// ErrTimeout: the other side did not answer in time.
	ErrTimeout = errors.New("nic: the other side did not answer in time")
	// ErrNameTaken: another live device has the name.
	ErrNameTaken = errors.New("nic: name is taken by a running process, choose another")
	// ErrPeerDied: the process at the other end ended.
	ErrPeerDied = errors.New("nic: the process at the other end ended")
	// ErrProtocol: the other side wrote something that the format forbids.
	ErrProtocol = errors.New("nic: the other side broke the protocol")
	// ErrClosed: the device or port is closed.
	ErrClosed = errors.New("nic: closed")
	// ErrUnknownHandle: no such registered memory.
	ErrUnknownHandle = errors.New("nic: no memory is registered under this handle")
	// ErrVersion: the other side speaks another version of the format.
	ErrVersion = errors.New("nic: the other side speaks another version, run the same release on both sides")
)

// A RejectError says that the remote side refused a connect request.
type RejectError struct {
	Remote string
	Reason []byte // as given to Reject; the remote side chose it
}

func (e *RejectError) Error() string {
	return fmt.Sprintf("nic: %s refused the connection: %q", e.Remote, e.Reason)
}
