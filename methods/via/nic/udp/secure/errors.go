package secure

import (
	"errors"
	"fmt"
)

// Errors of a Session. All but ErrExhausted and ErrForgeries concern the one
// packet, which is to be dropped; those two end the connection.
var (
	// ErrForged: the packet was not made by the other side of the connection,
	// or was changed on its way.
	ErrForged = errors.New("secure: the packet is not authentic")
	// ErrReplayed: this packet has arrived before.
	ErrReplayed = errors.New("secure: the packet arrived before")
	// ErrOld: so many later packets have arrived that nobody knows any more
	// whether this one has.
	ErrOld = errors.New("secure: the packet is too old to tell whether it arrived before")
	// ErrExhausted: the connection has sent PacketsMax packets.
	ErrExhausted = errors.New("secure: the connection has sent all the packets that it may; connect again")
	// ErrForgeries: ForgeriesMax packets were not authentic.
	ErrForgeries = errors.New("secure: too many packets of the connection were not authentic; connect again")
)

// Errors of a handshake's packets, which are to be dropped.
var (
	// ErrCookie: an INIT had no cookie, or not a good one; the answer has one.
	ErrCookie = errors.New("secure: the request has no valid cookie yet")
	// ErrKey: an INIT was made with another key.
	ErrKey = errors.New("secure: the other side has a different shared key")
	// ErrStrangers: an INIT was not looked at, because too many of its host came to nothing.
	ErrStrangers = errors.New("secure: too many requests of this host had unknown keys")
	// ErrServer: the list of servers has no key for an address.
	ErrServer = errors.New("secure: the public keys of servers have none for")
	// ErrUnexpected: a packet answers nothing that was asked.
	ErrUnexpected = errors.New("secure: the packet answers no question of ours")
	// ErrPayload: an authentic handshake packet says something impossible.
	ErrPayload = errors.New("secure: the other side broke the protocol in its handshake")
	// ErrPrivate: more private data, or a longer name or reason, than fits.
	ErrPrivate = errors.New("secure: private data, name or reason are too long")
	// ErrSettled: a Request got its answer before.
	ErrSettled = errors.New("secure: the request is answered already")
)

// A RejectedError says that the consumer at the other side does not want the
// connection.
type RejectedError struct {
	Reason []byte // as given to Reject; comes from the other side
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("secure: the other side rejected the connection: %q", e.Reason)
}
