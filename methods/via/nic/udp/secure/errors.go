package secure

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/methods/via/nic/udp/wire"
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
	// ErrUnexpected: a packet answers nothing that was asked.
	ErrUnexpected = errors.New("secure: the packet answers no question of ours")
	// ErrPayload: an authentic handshake packet says something impossible.
	ErrPayload = errors.New("secure: the other side broke the protocol in its handshake")
	// ErrPrivate: more private data, or a longer name or reason, than fits.
	ErrPrivate = errors.New("secure: private data, name or reason are too long")
	// ErrSettled: a Request got its answer before.
	ErrSettled = errors.New("secure: the request is answered already")
)

// A RefusedError says why no connection comes of an INIT. The side that refuses
// gets it from Respond, the one that asked from Input.
type RefusedError struct {
	Code    wire.Code
	Version uint16 // that the other side speaks
	Mode    wire.Mode
	// Here: this side refused; else the other one did.
	Here bool
}

func (e *RefusedError) Error() string {
	switch e.Code {
	case wire.CodeKey:
		if e.Here {
			return ErrKey.Error() + ", so it was refused: give both sides the same"
		}
		return "secure: the other side refused us: its shared key is a different one: give both sides the same"
	case wire.CodeVersion:
		return fmt.Sprintf("secure: the other side speaks version %d of the packet format, this side %d: run the same release on both", e.Version, wire.Version)
	case wire.CodeNobody:
		return "secure: nobody listens there"
	case wire.CodeBusy:
		if e.Here {
			return "secure: no room for another connection, so the other side was refused"
		}
		return "secure: the other side has no room for another connection at present"
	case wire.CodeMode:
		if e.Mode == wire.ModeInsecure {
			return "secure: this side is insecure and the other one has a shared key: give this side the key"
		}
		return "secure: this side has a shared key and the other one is insecure: give that side the key"
	}
	return fmt.Sprintf("secure: the connection was refused for a reason that this release does not know (%v)", e.Code)
}

// Is makes the error of a wrong key an ErrKey.
func (e *RefusedError) Is(target error) bool { return target == ErrKey && e.Code == wire.CodeKey }

// A RejectedError says that the consumer at the other side does not want the
// connection.
type RejectedError struct {
	Reason []byte // as given to Reject; comes from the other side
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("secure: the other side rejected the connection: %q", e.Reason)
}
