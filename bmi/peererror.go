package bmi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/fault"
)

// peerTexts are sentences for errors about a peer: %s is its address, and why follows the colon.
var peerTexts = map[error]string{
	ErrUnreachable: "bmi: nobody answers at %s, check the address and that the other side runs",
	ErrRefused:     "bmi: the connection to %s was refused",
	ErrPeerFailed:  "bmi: the connection to %s failed",
	ErrVersion:     "bmi: %s speaks another version of the protocol, run the same release on both sides",
	ErrProtocol:    "bmi: %s broke the protocol",
}

// PeerError is the error of a method about a peer: of a kind, one of the errors above, and for a reason, which may be nil. Its
// text says each of them once. It is of the kind and of the reason for errors.Is and errors.As.
func PeerError(kind error, peer string, why error) error {
	text, known := peerTexts[kind]
	if !known {
		text = kind.Error() + ": %s"
	}
	text = fmt.Sprintf(text, peer)
	named := &namedPeer{peer}
	if why == nil {
		return fault.Mark(errors.New(text), kind, named)
	}
	// A reason often begins with the same address, as it is in the terms of its layer.
	reason := why.Error()
	if _, host, ok := strings.Cut(peer, "://"); ok {
		reason = strings.TrimPrefix(reason, host+": ")
	}
	return fault.Mark(fmt.Errorf("%s: %s", text, reason), kind, named, why)
}

// namedPeer marks an error with a text that names a peer.
type namedPeer struct{ peer string }

func (n *namedPeer) Error() string { return n.peer }

// NamedPeer returns the peer that the text of an error names, if PeerError made the error.
func NamedPeer(err error) (peer string, ok bool) {
	var n *namedPeer
	if !errors.As(err, &n) {
		return "", false
	}
	return n.peer, true
}

// TakenError is an ErrNameTaken of a method that cannot listen at an address, because of why.
func TakenError(address string, why error) error {
	return fault.Mark(fmt.Errorf("bmi: a running process listens at %s already: choose another address, or end that process", address), ErrNameTaken, why)
}
