package peers

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/peer"
)

// fail ends every operation with a peer. remote: the peer gave the reason.
func (ps *Peers) fail(p *Peer, reason peer.Reason, remote bool) {
	p.failed = ps.failure(p, reason, remote)
	ps.user.Ended(p, reason, p.failed)
}

// failure makes the error that operations with a peer fail with, and counts it.
func (ps *Peers) failure(p *Peer, reason peer.Reason, remote bool) error {
	kind := bmi.ErrPeerFailed
	switch reason {
	case peer.ReasonVersion:
		kind = bmi.ErrVersion
		ps.Errors.Version++
	case peer.ReasonRefused, peer.ReasonSelf:
		kind = bmi.ErrRefused
		ps.Errors.ConnectFailed++
	case peer.ReasonAbsent, peer.ReasonNoAddress, peer.ReasonTimeout:
		kind = bmi.ErrUnreachable
		ps.Errors.ConnectFailed++
	case peer.ReasonProtocol:
		kind = bmi.ErrProtocol
	case peer.ReasonDropped:
		if !remote {
			kind = bmi.ErrDropped
		}
	case peer.ReasonClosing:
		if !remote {
			kind = bmi.ErrClosed
		}
	default:
		ps.Errors.PeerFailed++
	}
	cause := p.Link.TakeCause()
	switch {
	case remote && cause != nil:
		cause = fmt.Errorf("%v, says the peer: %w", reason, cause)
	case remote:
		cause = fmt.Errorf("%v, says the peer", reason)
	case cause == nil:
		cause = errors.New(reason.String())
	}
	return bmi.PeerError(kind, p.name, cause)
}
