package secure

import (
	"errors"
	"fmt"
)

// Errors of a Session. All except ErrExhausted and ErrForgeries concern only one packet,
// which must be dropped; those two end the connection.
var (
	// ErrForged: the packet was not made by the other side of the connection, or was changed
	// in transit.
	ErrForged = errors.New("secure: the packet is not authentic")
	// ErrReplayed: this packet has arrived before.
	ErrReplayed = errors.New("secure: the packet arrived before")
	// ErrOld: the packet is too far behind the latest one to tell whether it has arrived
	// before.
	ErrOld = errors.New("secure: the packet is too old to tell whether it arrived before")
	// ErrExhausted: the connection has sent PacketsMax packets.
	ErrExhausted = errors.New("secure: the connection has sent all the packets that it may; connect again")
	// ErrForgeries: ForgeriesMax packets were not authentic.
	ErrForgeries = errors.New("secure: too many packets of the connection were not authentic; connect again")
)

// Errors of handshake packets, which must be dropped.
var (
	// ErrCookie: an INIT had no cookie or an invalid one; the answer has one.
	ErrCookie = errors.New("secure: the request has no valid cookie yet")
	// ErrKey: an INIT was made with another key.
	ErrKey = errors.New("secure: the other side has a different shared key")
	// ErrStrangers: an INIT was not processed, because too many INITs of its host had
	// unknown keys.
	ErrStrangers = errors.New("secure: too many requests of this host had unknown keys")
	// ErrServer: the list of servers has no key for an address.
	ErrServer = errors.New("secure: the public keys of servers have none for")
	// ErrUnexpected: a packet is not an answer to one of ours.
	ErrUnexpected = errors.New("secure: the packet answers no question of ours")
	// ErrPayload: an authentic handshake packet has impossible content.
	ErrPayload = errors.New("secure: the other side broke the protocol in its handshake")
	// ErrPrivate: private data, a name or a reason is too long.
	ErrPrivate = errors.New("secure: private data, name or reason are too long")
	// ErrSettled: a Request was already answered.
	ErrSettled = errors.New("secure: the request is answered already")
)

// A RejectedError says that the consumer at the other side rejected the connection.
type RejectedError struct {
	Reason []byte // as given to Reject; chosen by the other side
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("secure: the other side rejected the connection: %q", e.Reason)
}
