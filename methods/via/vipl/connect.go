package vipl

import (
	"fmt"
	"slices"
	"time"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// An Address names who to connect to: a NIC, and by the discriminator who there.
type Address struct {
	// Host is the remote NIC's name, in the provider's syntax.
	Host string
	// Discriminator is what the remote side waits for; at most
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

// ConnectOptions are the rest of what a connect can be told.
type ConnectOptions struct {
	// Local is this side's own discriminator.
	Local string
	// Private travels with the request; at most PrivateMax bytes.
	Private []byte
	// Timeout ends the attempt with ErrTimeout; 0 is the provider's limit.
	Timeout time.Duration
}

// EventKind says what a ConnEvent tells.
type EventKind uint8

const (
	// EventRequest: Request asks to connect.
	EventRequest EventKind = iota + 1
	// EventConnected: the VI may send.
	EventConnected
	// EventConnectFailed: the attempt ended, the VI is Idle; Err says why.
	EventConnectFailed
	// EventDisconnected: the VI's descriptors came back. After a Disconnect
	// the VI is Idle and Err nil; else it is in Error and Err says why.
	EventDisconnected
	// EventError is asynchronous; the connection, if any, stays.
	EventError
)

// A ConnEvent is something that happened to a connection, or may become one.
type ConnEvent struct {
	Kind    EventKind
	VI      *VI          // nil for EventRequest and for errors of the NIC
	Request *ConnRequest // EventRequest
	Err     error
}

// PollEvents fills out with connection events, oldest first. Only a NIC with
// Events has any. It does not poll the device: that is CQ.Poll's and Poll's.
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

// ConnectStart asks the remote side to connect and does not wait. The VI is
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

// ConnectRequest is ConnectStart that waits for the outcome.
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

// A ConnRequest is a remote side that asks to connect. It waits for one Accept or
// Reject.
type ConnRequest struct {
	// Remote is the requester, with its own discriminator.
	Remote Address
	// Discriminator is the one that it asks for.
	Discriminator string
	// Attributes are those of the requester's VI (reliability, MaxTransfer,
	// RemoteWrite, RemoteRead), as it says.
	Attributes VIAttributes
	// Private is what the requester added; comes from outside.
	Private []byte
	// User is the user that runs the requester, and OtherUser that it is another one, as nic.ConnEvent has them.
	User      *nic.User
	OtherUser bool

	n    *NIC
	id   nic.RequestID
	peer bool
	done bool
}

// Accept joins the request to an Idle VI, which becomes PendingConnect, and
// Connected when the other side knows. The reliability levels must be the same.
// After an error the request still waits for an answer.
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
		// The requester may be gone already; then there is nobody to tell.
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

// keep holds a request for whoever waits for it later. When there are too many, the
// oldest goes: most likely its requester has given up.
func (n *NIC) keep(req *ConnRequest) {
	if len(n.requests) >= RequestsMax {
		n.info.RequestsRefused++
		oldest := n.takeRequest(func(*ConnRequest) bool { return true })
		_ = oldest.refuse([]byte{rejectNoMatch})
	}
	n.requests = append(n.requests, req)
}

// ConnectWait waits up to timeout (< 0: as long as it takes) for a connect
// request for a discriminator; then it returns ErrTimeout. On a NIC with Events
// it returns ErrInvalidState: requests come through PollEvents there.
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

// connected: the provider says that the VI may send.
func (vi *VI) connected(conn *nic.ConnEvent) {
	if vi.state != PendingConnect {
		// Disconnect was faster; the flush follows.
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

// connectFailed: the attempt ended without a connection.
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

// disconnected: the connection ended and every descriptor came back.
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

// orLost gives a provider's missing error a text.
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
	// The device knows nothing of the attempt and has nothing to flush:
	// nothing to wait for.
	vi.become(Idle)
	vi.n.emit(ConnEvent{Kind: EventDisconnected, VI: vi})
}
