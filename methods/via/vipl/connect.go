package vipl

import (
	"fmt"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// An Address names a NIC and, by the discriminator, a consumer of it.
type Address struct {
	// Host is the remote NIC's name, in the provider's syntax.
	Host string
	// Discriminator is the name under which the remote side waits for connections; at most
	// DiscriminatorMax bytes.
	Discriminator string
}

// String is the host, with the discriminator behind a '#' if there is one.
func (a Address) String() string {
	if a.Discriminator == "" {
		return a.Host
	}
	return a.Host + "#" + a.Discriminator
}

// ConnectOptions are further arguments of the connect calls.
type ConnectOptions struct {
	// Local is this side's own discriminator.
	Local string
	// Private travels with the request; at most PrivateMax bytes.
	Private []byte
	// Timeout ends the attempt with ErrTimeout; 0 is the provider's limit.
	Timeout time.Duration
}

// EventKind is the kind of a ConnEvent.
type EventKind uint8

const (
	// EventRequest: a connect request has arrived.
	EventRequest EventKind = iota + 1
	// EventConnected: the VI may send.
	EventConnected
	// EventConnectFailed: the attempt ended, the VI is Idle; Err says why.
	EventConnectFailed
	// EventDisconnected: the VI's descriptors came back. After a Disconnect
	// the VI is Idle and Err is nil. Otherwise it is in Error, and Err says why.
	EventDisconnected
	// EventError is asynchronous; the connection, if any, stays.
	EventError
)

// A ConnEvent reports a change of a connection, or a connect request.
type ConnEvent struct {
	Kind    EventKind
	VI      *VI          // nil for EventRequest and for errors of the NIC
	Request *ConnRequest // EventRequest
	Err     error
}

// PollEvents fills out with connection events, oldest first. Only a NIC with Events
// has any. It does not poll the device; CQ.Poll and Poll do.
func (n *NIC) PollEvents(out []ConnEvent) int {
	if len(n.events) == 0 {
		return 0
	}
	k := copy(out, n.events)
	n.events = slices.Delete(n.events, 0, k)
	return k
}

func (n *NIC) emit(ev ConnEvent) {
	if n.cfg.Events {
		n.events = append(n.events, ev)
	}
}

func (vi *VI) checkConnect(remote Address, opts ConnectOptions) error {
	switch {
	case vi.state != Idle:
		return fmt.Errorf("%w: it is %v", ErrInvalidState, vi.state)
	case remote.Host == "":
		return fmt.Errorf("%w: no host to connect to", ErrInvalidParameter)
	case len(remote.Discriminator) > DiscriminatorMax || len(opts.Local) > DiscriminatorMax:
		return fmt.Errorf("%w: a discriminator has %d bytes at most", ErrInvalidParameter, DiscriminatorMax)
	case len(opts.Private) > PrivateMax:
		return fmt.Errorf("%w: %d bytes of private data, at most %d", ErrInvalidParameter, len(opts.Private), PrivateMax)
	case opts.Timeout < 0:
		return fmt.Errorf("%w: negative timeout", ErrInvalidParameter)
	}
	return vi.ready()
}

func (vi *VI) request(kind byte, remote Address, opts ConnectOptions) []byte {
	r := request{
		kind:        kind,
		reliability: vi.attrs.Reliability,
		maxTransfer: uint32(vi.attrs.MaxTransfer),
		to:          remote.Discriminator,
		from:        opts.Local,
		private:     opts.Private,
	}
	if vi.attrs.RemoteWrite {
		r.flags |= flagRemoteWrite
	}
	if vi.attrs.RemoteRead {
		r.flags |= flagRemoteRead
	}
	return r.append(make([]byte, 0, nic.PrivateDataMax))
}

// ConnectStart begins to connect to the remote side and does not wait. The VI is
// PendingConnect until it is Connected, or Idle again if that failed.
func (vi *VI) ConnectStart(remote Address, opts ConnectOptions) error {
	if err := vi.checkConnect(remote, opts); err != nil {
		return err
	}
	if err := vi.port.Connect(remote.Host, vi.request(kindClient, remote, opts), opts.Timeout); err != nil {
		return fmt.Errorf("vipl: connect to %v: %w", remote, wrapNIC(err))
	}
	vi.pending(remote)
	return nil
}

func (vi *VI) pending(remote Address) {
	vi.remote, vi.err = remote, nil
	vi.become(PendingConnect)
}

// ConnectRequest is ConnectStart, but waits for the outcome.
func (vi *VI) ConnectRequest(remote Address, opts ConnectOptions) error {
	if err := vi.ConnectStart(remote, opts); err != nil {
		return err
	}
	return vi.waitConnected()
}

func (vi *VI) waitConnected() error {
	if err := vi.n.wait(-1, func() bool { return vi.state != PendingConnect }); err != nil {
		return err
	}
	if vi.state == Connected {
		return nil
	}
	return vi.err
}

// A ConnRequest is the connect request of a remote side. It is answered once, by
// Accept or Reject.
type ConnRequest struct {
	// Remote is the requester, with its own discriminator.
	Remote Address
	// Discriminator is the one that it asks for.
	Discriminator string
	// Attributes are those of the requester's VI (reliability, MaxTransfer,
	// RemoteWrite, RemoteRead), according to the request.
	Attributes VIAttributes
	// Private is the requester's private data. It has not been checked.
	Private []byte
	// User and OtherUser are those of nic.ConnEvent: the user that runs the requester.
	User      *nic.User
	OtherUser bool

	n    *NIC
	id   nic.RequestID
	peer bool
	done bool
}

// Accept connects the requester with an Idle VI. The VI becomes PendingConnect, and
// Connected once the other side has learnt of it. The reliability levels must be the
// same. After an error the request can still be answered.
func (r *ConnRequest) Accept(vi *VI) error {
	switch {
	case r.done:
		return fmt.Errorf("%w: the request was answered already", ErrInvalidParameter)
	case vi.n != r.n:
		return fmt.Errorf("%w: the VI is of another NIC", ErrInvalidParameter)
	case vi.state != Idle:
		return fmt.Errorf("%w: it is %v", ErrInvalidState, vi.state)
	}
	if err := r.fits(vi); err != nil {
		return err
	}
	if err := vi.ready(); err != nil {
		return err
	}
	if err := r.join(vi); err != nil {
		return err
	}
	vi.pending(r.Remote)
	return nil
}

func (r *ConnRequest) fits(vi *VI) error {
	mine, theirs := vi.attrs, r.Attributes
	switch {
	case mine.Reliability != theirs.Reliability:
		return fmt.Errorf("%w: %d here, %d there", ErrInvalidReliability, mine.Reliability, theirs.Reliability)
	case mine.MaxTransfer != 0 && theirs.MaxTransfer != 0 && mine.MaxTransfer != theirs.MaxTransfer:
		return fmt.Errorf("%w: %d bytes here, %d there", ErrInvalidMTU, mine.MaxTransfer, theirs.MaxTransfer)
	}
	return nil
}

func (r *ConnRequest) join(vi *VI) error {
	if err := r.n.dev.Accept(r.id, vi.port); err != nil {
		return fmt.Errorf("vipl: accept %v: %w", r.Remote, wrapNIC(err))
	}
	r.done = true
	return nil
}

// Reject refuses the request; the requester sees a RejectedError with the reason
// (at most ReasonMax bytes).
func (r *ConnRequest) Reject(reason []byte) error {
	if len(reason) > ReasonMax {
		return fmt.Errorf("%w: a reason has %d bytes at most", ErrInvalidParameter, ReasonMax)
	}
	return r.refuse(append([]byte{rejectConsumer}, reason...))
}

func (r *ConnRequest) refuse(reason []byte) error {
	if r.done {
		return fmt.Errorf("%w: the request was answered already", ErrInvalidParameter)
	}
	r.done = true
	if err := r.n.dev.Reject(r.id, reason); err != nil {
		return fmt.Errorf("vipl: reject %v: %w", r.Remote, wrapNIC(err))
	}
	return nil
}

// requested is called when a connect request arrives.
func (n *NIC) requested(conn *nic.ConnEvent) {
	r, err := parseRequest(conn.Private)
	if err != nil {
		n.info.RequestsRefused++
		n.cfg.Log.Warn("vipl: refused a connect request", "remote", conn.Remote, "error", err)
		// An error means that the requester is gone.
		_ = n.dev.Reject(conn.Request, []byte{rejectFormat})
		return
	}
	req := &ConnRequest{
		Remote:        Address{Host: conn.Remote, Discriminator: r.from},
		Discriminator: r.to,
		Attributes: VIAttributes{
			Reliability: r.reliability,
			MaxTransfer: int(r.maxTransfer),
			RemoteWrite: r.flags&flagRemoteWrite != 0,
			RemoteRead:  r.flags&flagRemoteRead != 0,
		},
		Private:   r.private,
		User:      conn.User,
		OtherUser: conn.OtherUser,
		n:         n,
		id:        conn.Request,
		peer:      r.kind == kindPeer,
	}
	switch {
	case req.peer && n.peerMatch(req):
	case !req.peer && n.cfg.Events:
		n.emit(ConnEvent{Kind: EventRequest, Request: req})
	default:
		n.keep(req)
	}
}

// keep keeps a request for a later ConnectWait or ConnectPeerRequest. If there are too
// many, it rejects the oldest, whose requester has most likely given up.
func (n *NIC) keep(req *ConnRequest) {
	if len(n.requests) >= RequestsMax {
		n.info.RequestsRefused++
		oldest := n.takeRequest(func(*ConnRequest) bool { return true })
		_ = oldest.refuse([]byte{rejectNoMatch})
	}
	n.requests = append(n.requests, req)
}

// ConnectWait waits for a connect request for a discriminator. After timeout (< 0:
// never) it returns ErrTimeout. On a NIC with Events it returns ErrInvalidState:
// requests come through PollEvents there.
func (n *NIC) ConnectWait(discriminator string, timeout time.Duration) (req *ConnRequest, err error) {
	if n.cfg.Events {
		return nil, fmt.Errorf("%w: connect requests come through PollEvents", ErrInvalidState)
	}
	err = n.wait(timeout, func() bool {
		req = n.takeRequest(func(r *ConnRequest) bool { return !r.peer && r.Discriminator == discriminator })
		return req != nil
	})
	return req, err
}

func (n *NIC) takeRequest(want func(*ConnRequest) bool) *ConnRequest {
	i := slices.IndexFunc(n.requests, want)
	if i < 0 {
		return nil
	}
	r := n.requests[i]
	n.requests = slices.Delete(n.requests, i, i+1)
	return r
}

// connected is called when the provider reports that the VI may send.
func (vi *VI) connected(conn *nic.ConnEvent) {
	if vi.state != PendingConnect {
		// Disconnect was called before; the flush follows.
		vi.stray(vi.state != Disconnected)
		return
	}
	if conn.Remote != "" {
		vi.remote.Host = conn.Remote
	}
	vi.peerEnd()
	vi.become(Connected)
	vi.n.info.Connections++
	vi.n.emit(ConnEvent{Kind: EventConnected, VI: vi})
}

// connectFailed is called when the attempt ended without a connection.
func (vi *VI) connectFailed(err error) {
	switch {
	case vi.state == Disconnected && vi.recvs > 0:
		// The attempt failed before Disconnect reached the device, which
		// flushes what is posted and reports EventDisconnected then.
	case vi.state == Disconnected:
		vi.disconnected(nil)
	case vi.state != PendingConnect:
		vi.stray(true)
	case !vi.peerRetry(err):
		vi.peerEnd()
		vi.err = err
		vi.become(Idle)
		vi.n.emit(ConnEvent{Kind: EventConnectFailed, VI: vi, Err: err})
	}
}

// disconnected is called when the connection has ended and every descriptor has come back.
func (vi *VI) disconnected(err error) {
	switch vi.state {
	case Disconnected:
		vi.stale = true
		vi.err = nil
		vi.become(Idle)
		vi.n.emit(ConnEvent{Kind: EventDisconnected, VI: vi})
	case PendingConnect:
		vi.stale = true
		if vi.peerWaits() {
			return
		}
		vi.peerEnd()
		vi.err = wrapNIC(orLost(err))
		vi.become(Idle)
		vi.n.emit(ConnEvent{Kind: EventConnectFailed, VI: vi, Err: vi.err})
	case Connected:
		vi.err = wrapNIC(orLost(err))
		vi.become(Error)
		vi.n.info.ConnectionsLost++
		vi.n.asyncError(AsyncError{Code: ErrorConnLost, VI: vi, Err: vi.err})
		vi.n.emit(ConnEvent{Kind: EventDisconnected, VI: vi, Err: vi.err})
	default:
		vi.stray(true)
	}
}

// orLost replaces a missing error of the provider.
func orLost(err error) error {
	if err == nil {
		return nic.ErrNotConnected
	}
	return err
}

func (vi *VI) stray(count bool) {
	if count {
		vi.n.info.StrayEvents++
	}
}

// Disconnect ends a connection or an attempt. The descriptors still posted come
// back with nic.StatusFlushed, then the VI is Idle. A VI in Error is Idle at once.
// It returns ErrInvalidState if the VI is Idle already.
func (vi *VI) Disconnect() error {
	switch vi.state {
	case Connected:
		vi.become(Disconnected)
		vi.port.Disconnect()
	case PendingConnect:
		vi.cancelConnect()
	case Error:
		vi.stale = true
		vi.become(Idle)
	case Disconnected:
	default:
		return fmt.Errorf("%w: it is %v", ErrInvalidState, vi.state)
	}
	return nil
}

func (vi *VI) cancelConnect() {
	waiting := vi.peer.on && !vi.peer.calling
	vi.peerEnd()
	vi.become(Disconnected)
	if !waiting || vi.recvs > 0 {
		vi.port.Disconnect()
		return
	}
	// The device knows nothing of the attempt and has nothing to flush, so there is
	// nothing to wait for.
	vi.become(Idle)
	vi.n.emit(ConnEvent{Kind: EventDisconnected, VI: vi})
}
