package vipl

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Times of the peer-to-peer model.
const (
	// PeerTimeout is used when ConnectOptions.Timeout is 0.
	PeerTimeout = 30 * time.Second
	// PeerRetryAfter is the pause after an attempt that found no peer.
	PeerRetryAfter = time.Millisecond
)

// peerConnect is a VI's part in a peer-to-peer connect.
//
// Both sides call ConnectPeerRequest, in any order. The side with the lower address
// (host, then discriminator) connects, and tries again until the other side is there.
// The other side waits for that. So the result is one connection, whichever side was
// first.
type peerConnect struct {
	on       bool          // a peer-to-peer connect is under way
	active   bool          // this side connects
	calling  bool          // the device is busy with a Connect or an Accept
	flushed  bool          // receives came back from an attempt that ended
	local    string        // own discriminator
	request  []byte        // what the connecting side sends
	deadline time.Duration // in terms of NICConfig.Clock
	next     time.Duration // when to try again; meaningful while active and not calling
}

// ConnectPeerRequest starts to connect with a remote side that does the same, and
// does not wait. Both NICs must have been opened with a name to listen on, and
// each side's remote address must be the other's LocalAddr and Local
// discriminator.
//
// If one side gives up, the attempt of the other side ends only if that side has
// receives posted. They then come back with nic.StatusFlushed.
func (vi *VI) ConnectPeerRequest(remote Address, opts ConnectOptions) error {
	if err := vi.checkConnect(remote, opts); err != nil {
		return err
	}
	local := Address{Host: vi.n.LocalAddr(), Discriminator: opts.Local}
	if local == remote {
		return fmt.Errorf("%w: a VI cannot be its own peer at %v", ErrInvalidParameter, remote)
	}
	if opts.Timeout == 0 {
		opts.Timeout = PeerTimeout
	}
	now := vi.n.cfg.Clock()
	vi.pending(remote)
	vi.peer = peerConnect{
		on:       true,
		active:   local.Host < remote.Host || (local.Host == remote.Host && local.Discriminator < remote.Discriminator),
		local:    opts.Local,
		request:  vi.request(kindPeer, remote, opts),
		deadline: now + opts.Timeout,
		next:     now,
	}
	vi.n.peering = append(vi.n.peering, vi)
	vi.n.slow++
	if vi.peer.active {
		vi.peerTick()
	} else {
		vi.peerNext()
	}
	return nil
}

// ConnectPeerDone returns the state of a peer-to-peer connect: nil when it is
// connected, ErrNotDone while it is under way, else why it ended.
func (vi *VI) ConnectPeerDone() error {
	if vi.state == PendingConnect {
		vi.n.Poll()
	}
	switch vi.state {
	case Connected:
		return nil
	case PendingConnect:
		return ErrNotDone
	}
	if vi.err == nil {
		return fmt.Errorf("%w: no peer-to-peer connect is under way", ErrInvalidState)
	}
	return vi.err
}

// ConnectPeerWait is ConnectPeerDone, but waits for the outcome.
func (vi *VI) ConnectPeerWait() error {
	if err := vi.ConnectPeerDone(); err != ErrNotDone {
		return err
	}
	return vi.waitConnected()
}

// peerOf reports whether a request is the one that this VI waits for.
func (vi *VI) peerOf(r *ConnRequest) bool {
	return r.Remote == vi.remote && r.Discriminator == vi.peer.local
}

// peerMatch offers an arriving request to the VIs that wait for their peer.
func (n *NIC) peerMatch(r *ConnRequest) bool {
	for _, vi := range n.peering {
		if !vi.peer.active && !vi.peer.calling && vi.peerOf(r) {
			vi.peerAccept(r)
			return true
		}
	}
	return false
}

func (vi *VI) peerAccept(r *ConnRequest) {
	err := r.fits(vi)
	if err == nil {
		err = r.join(vi)
	}
	if err != nil {
		// An error means that the requester is gone.
		_ = r.Reject([]byte("the VIs do not fit together"))
		vi.peerFail(err)
		return
	}
	vi.peer.calling = true
}

// peerTick tries again when it is time, and gives up at the deadline.
func (vi *VI) peerTick() {
	now := vi.n.cfg.Clock()
	p := &vi.peer
	switch {
	case !p.on || p.calling:
		// The device's own time-out ends an attempt.
	case now >= p.deadline:
		vi.peerFail(fmt.Errorf("%w: %v did not connect", ErrTimeout, vi.remote))
	case p.active && now >= p.next:
		if err := vi.port.Connect(vi.remote.Host, p.request, p.deadline-now); err != nil {
			vi.connectFailed(wrapNIC(err))
			return
		}
		p.calling = true
	}
}

// peerRetry reports whether a failed attempt only means that the other side is not
// there yet.
func (vi *VI) peerRetry(err error) bool {
	p := &vi.peer
	if !p.on || !p.active {
		return false
	}
	p.calling = false
	if !errors.Is(err, ErrNotReachable) && !errors.Is(err, ErrNoMatch) {
		return false
	}
	p.next = vi.n.cfg.Clock() + PeerRetryAfter
	return true
}

// peerWaits reports whether a VI whose accepted request ended before it was connected
// waits for the next request, because the other side tries again. If receives came back
// with the request, the consumer has them, and the attempt ends.
func (vi *VI) peerWaits() bool {
	p := &vi.peer
	if !p.on || p.active || p.flushed || vi.ready() != nil {
		return false
	}
	p.calling = false
	vi.peerNext()
	return true
}

// peerNext answers a request that is waiting already, if there is one.
func (vi *VI) peerNext() {
	if req := vi.n.takeRequest(func(r *ConnRequest) bool { return r.peer && vi.peerOf(r) }); req != nil {
		vi.peerAccept(req)
	}
}

func (vi *VI) peerFail(err error) {
	vi.peerEnd()
	vi.err = err
	vi.become(Idle)
	vi.n.emit(ConnEvent{Kind: EventConnectFailed, VI: vi, Err: err})
}

// peerEnd ends the VI's peer-to-peer connect, if it has one.
func (vi *VI) peerEnd() {
	if !vi.peer.on {
		return
	}
	vi.peer = peerConnect{}
	i := slices.Index(vi.n.peering, vi)
	vi.n.peering = slices.Delete(vi.n.peering, i, i+1)
	vi.n.slow--
}

// peerDeadline is when peerTick must be called next.
func (vi *VI) peerDeadline() time.Duration {
	if vi.peer.active && !vi.peer.calling {
		return min(vi.peer.next, vi.peer.deadline)
	}
	return vi.peer.deadline
}
