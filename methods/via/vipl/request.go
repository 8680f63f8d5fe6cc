package vipl

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Limits of the contents of a connect request, in bytes.
const (
	// DiscriminatorMax bounds a discriminator.
	DiscriminatorMax = 48
	// PrivateMax bounds the consumer's private data.
	PrivateMax = nic.PrivateDataMax - requestHeader - 2*DiscriminatorMax
	// ReasonMax bounds the reason of a Reject.
	ReasonMax = nic.RejectReasonMax - 1
)

// The format of a connect request: a header, the two discriminators, and the
// consumer's private data.
//
//	byte 0     version of this format
//	byte 1     kind: client-server or peer-to-peer
//	byte 2     reliability level of the requester's VI
//	byte 3     flags: bit 0 remote write allowed, bit 1 remote read allowed
//	byte 4-7   the requester's MaxTransfer, little-endian; 0: what its NIC can do
//	byte 8     length of the requested discriminator (to)
//	byte 9     length of the requester's own discriminator (from)
const (
	requestVersion = 1
	requestHeader  = 10

	kindClient = 1
	kindPeer   = 2

	flagRemoteWrite = 1
	flagRemoteRead  = 2
)

// request is the decoded form.
type request struct {
	kind        byte
	reliability Reliability
	flags       byte
	maxTransfer uint32
	to, from    string
	private     []byte
}

func (r request) append(b []byte) []byte {
	b = append(b, requestVersion, r.kind, byte(r.reliability), r.flags)
	b = binary.LittleEndian.AppendUint32(b, r.maxTransfer)
	b = append(b, byte(len(r.to)), byte(len(r.from)))
	b = append(b, r.to...)
	b = append(b, r.from...)
	return append(b, r.private...)
}

var errRequest = errors.New("vipl: connect request is not readable")

// parseRequest checks bytes from outside. The result does not alias them.
func parseRequest(b []byte) (r request, err error) {
	if len(b) < requestHeader || len(b) > nic.PrivateDataMax {
		return r, fmt.Errorf("%w: %d bytes", errRequest, len(b))
	}
	if b[0] != requestVersion {
		return r, fmt.Errorf("%w: %w: version %d, want %d", errRequest, nic.ErrVersion, b[0], requestVersion)
	}
	r.kind, r.reliability, r.flags = b[1], Reliability(b[2]), b[3]
	r.maxTransfer = binary.LittleEndian.Uint32(b[4:])
	to, from := int(b[8]), int(b[9])
	switch {
	case r.kind != kindClient && r.kind != kindPeer:
		return r, fmt.Errorf("%w: kind %d", errRequest, r.kind)
	case r.reliability > ReliableReception:
		return r, fmt.Errorf("%w: reliability level %d", errRequest, r.reliability)
	case r.flags&^(flagRemoteWrite|flagRemoteRead) != 0:
		return r, fmt.Errorf("%w: flags %#x", errRequest, r.flags)
	case to > DiscriminatorMax || from > DiscriminatorMax || requestHeader+to+from > len(b):
		return r, fmt.Errorf("%w: discriminators of %d and %d bytes", errRequest, to, from)
	case len(b)-requestHeader-to-from > PrivateMax:
		return r, fmt.Errorf("%w: %d bytes of private data", errRequest, len(b)-requestHeader-to-from)
	}
	b = b[requestHeader:]
	r.to, r.from = string(b[:to]), string(b[to:to+from])
	r.private = append([]byte(nil), b[to+from:]...)
	return r, nil
}

// The first byte of a reject reason says who refused.
const (
	rejectConsumer = 0 // the consumer, whose own reason follows
	rejectNoMatch  = 1 // no consumer waits for the discriminator
	rejectFormat   = 2 // the request is not readable
)

// A RejectedError says that the remote consumer rejected the request. It is an ErrReject.
type RejectedError struct {
	Remote string
	Reason []byte // the remote consumer's; it has not been checked
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf("vipl: %s rejected the connection: %q", e.Remote, e.Reason)
}

// Unwrap makes every RejectedError an ErrReject.
func (e *RejectedError) Unwrap() error { return ErrReject }

func rejectError(e *nic.RejectError) error {
	if len(e.Reason) > 0 {
		switch e.Reason[0] {
		case rejectNoMatch:
			return fmt.Errorf("%w: %s", ErrNoMatch, e.Remote)
		case rejectConsumer:
			return &RejectedError{Remote: e.Remote, Reason: e.Reason[1:]}
		}
	}
	return fmt.Errorf("%w: %w", ErrReject, e)
}
