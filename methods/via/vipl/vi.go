package vipl

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// VIAttributes are chosen when a VI is made.
type VIAttributes struct {
	// Reliability must be the same on both sides of a connection.
	Reliability Reliability
	// Tag must be that of the memory used over the VI.
	Tag ProtectionTag
	// MaxTransfer is the largest payload of one descriptor, in bytes; 0 means
	// what the NIC can do. If both sides of a connection choose one, it must
	// be the same.
	MaxTransfer int
	// RemoteWrite, RemoteRead allow the remote side RDMA over this VI.
	RemoteWrite, RemoteRead bool
	// RecvDepth and SendDepth bound the work queues, in descriptors; 0 means
	// as many as the NIC can do.
	RecvDepth, SendDepth int
}

// A VI is one end of a connection: a send queue and a receive queue.
type VI struct {
	// User is the consumer's; this package does not touch it.
	User any

	port           nic.Port
	recvCQ, sendCQ *CQ // nil: the queue completes into recvDone, sendDone
	recvs, sends   int // descriptors that the device has; ≥ 0
	state          State
	stale          bool // the port was connected once: it is replaced before the next use

	recvDone, sendDone nic.Queue
	n                  *NIC
	attrs              VIAttributes
	remote             Address
	err                error // why the last connection, or attempt, ended
	peer               peerConnect
	sendFn, recvFn     func(*VI, *Descriptor)
}

// CreateVI makes an unconnected VI. sendCQ and recvCQ, of the same NIC, are where
// its descriptors complete; nil means on the VI itself, for SendDone and RecvDone.
func (n *NIC) CreateVI(attrs VIAttributes, sendCQ, recvCQ *CQ) (*VI, error) {
	if n.closed {
		return nil, errDestroyed
	}
	if err := n.checkAttributes(&attrs); err != nil {
		return nil, err
	}
	if (sendCQ != nil && sendCQ.n != n) || (recvCQ != nil && recvCQ.n != n) {
		return nil, fmt.Errorf("%w: the completion queue is of another NIC", ErrInvalidParameter)
	}
	if err := n.useTag(attrs.Tag); err != nil {
		return nil, err
	}
	vi := &VI{n: n, attrs: attrs, sendCQ: sendCQ, recvCQ: recvCQ}
	if err := vi.openPort(); err != nil {
		n.tags[attrs.Tag]--
		return nil, err
	}
	for _, cq := range []*CQ{sendCQ, recvCQ} {
		if cq != nil {
			cq.users++
		}
	}
	n.vis++
	return vi, nil
}

// checkAttributes fills in defaults.
func (n *NIC) checkAttributes(a *VIAttributes) error {
	c := n.caps
	if a.RecvDepth == 0 {
		a.RecvDepth = c.RecvDepthMax
	}
	if a.SendDepth == 0 {
		a.SendDepth = c.SendDepthMax
	}
	switch {
	case a.Reliability > c.Reliability:
		return fmt.Errorf("%w: the NIC has level %d at most, not %d", ErrInvalidReliability, c.Reliability, a.Reliability)
	case a.MaxTransfer < 0 || a.MaxTransfer > c.MTUBytes:
		return fmt.Errorf("%w: the NIC moves %d bytes at most, not %d", ErrInvalidMTU, c.MTUBytes, a.MaxTransfer)
	case a.RemoteRead && !c.RDMARead:
		return ErrInvalidRDMARead
	case a.RecvDepth < 0 || a.RecvDepth > c.RecvDepthMax || a.SendDepth < 0 || a.SendDepth > c.SendDepthMax:
		return fmt.Errorf("%w: queues of %d and %d descriptors, the NIC has %d and %d",
			ErrInvalidParameter, a.RecvDepth, a.SendDepth, c.RecvDepthMax, c.SendDepthMax)
	}
	return nil
}

func (vi *VI) openPort() error {
	a := vi.attrs
	port, err := vi.n.dev.OpenPort(nic.PortAttrs{
		Reliability: a.Reliability,
		Tag:         a.Tag,
		RecvDepth:   a.RecvDepth,
		SendDepth:   a.SendDepth,
		RemoteWrite: a.RemoteWrite,
		RemoteRead:  a.RemoteRead,
	}, vi)
	if err != nil {
		return fmt.Errorf("vipl: create VI: %w", err)
	}
	vi.port, vi.stale = port, false
	return nil
}

// ready replaces the port of an Idle VI that was connected before, because a
// provider's port serves one connection.
func (vi *VI) ready() error {
	switch {
	case vi.n.closed || vi.state == Destroyed:
		return errDestroyed
	case vi.state > Connected:
		return fmt.Errorf("%w: it is %v", ErrInvalidState, vi.state)
	case !vi.stale:
		return nil
	}
	// The port is closed already if opening a new one failed the last time.
	if err := vi.port.Close(); err != nil && !errors.Is(err, nic.ErrClosed) {
		return fmt.Errorf("vipl: renew VI: %w", err)
	}
	return vi.openPort()
}

// Destroy ends the VI. It fails with ErrInvalidState while the VI is connected,
// connecting or disconnecting. Receives posted on an Idle VI do not come back.
func (vi *VI) Destroy() error {
	if vi.n.closed {
		return nil
	}
	if !legal[vi.state][Destroyed] {
		return fmt.Errorf("%w: it is %v, disconnect it first", ErrInvalidState, vi.state)
	}
	if err := vi.port.Close(); err != nil && !errors.Is(err, nic.ErrClosed) {
		return fmt.Errorf("vipl: destroy VI: %w", err)
	}
	vi.become(Destroyed)
	vi.n.dropNotifier(vi)
	vi.n.tags[vi.attrs.Tag]--
	vi.n.vis--
	for _, cq := range []*CQ{vi.sendCQ, vi.recvCQ} {
		if cq != nil {
			cq.users--
		}
	}
	return nil
}

// VIInfo describes a VI.
type VIInfo struct {
	State      State
	Attributes VIAttributes
	// Remote is the other side of the connection, or of the last attempt.
	Remote Address
	// Err says why the last connection or attempt ended; nil if this side
	// ended it.
	Err error
	// SendQueueEmpty and RecvQueueEmpty: no descriptor is posted.
	SendQueueEmpty, RecvQueueEmpty bool
}

// Query describes the VI.
func (vi *VI) Query() VIInfo {
	return VIInfo{
		State:          vi.state,
		Attributes:     vi.attrs,
		Remote:         vi.remote,
		Err:            vi.err,
		SendQueueEmpty: vi.sends == 0 && vi.sendDone.Head() == nil,
		RecvQueueEmpty: vi.recvs == 0 && vi.recvDone.Head() == nil,
	}
}

// State is the state of the VI.
func (vi *VI) State() State { return vi.state }

// NIC is the NIC that the VI was made from.
func (vi *VI) NIC() *NIC { return vi.n }

// Port returns the provider's port of the VI. It is for messages without descriptors (nic.DirectPort,
// nic.RDMAPort) and for information about the connection (nic.LinkCounter, nic.Sourcer, nic.Authenticator).
// It changes when the VI becomes Idle after a connection.
func (vi *VI) Port() nic.Port { return vi.port }

// SetAttributes changes the attributes of an Idle VI with empty queues.
func (vi *VI) SetAttributes(attrs VIAttributes) error {
	if vi.state != Idle || vi.recvs > 0 {
		return fmt.Errorf("%w: attributes change only when the VI is Idle and its queues are empty", ErrInvalidState)
	}
	if err := vi.n.checkAttributes(&attrs); err != nil {
		return err
	}
	if err := vi.n.useTag(attrs.Tag); err != nil {
		return err
	}
	if err := vi.port.Close(); err != nil {
		vi.n.tags[attrs.Tag]--
		return fmt.Errorf("vipl: set VI attributes: %w", err)
	}
	old := vi.attrs
	vi.attrs = attrs
	if err := vi.openPort(); err != nil {
		vi.attrs = old
		vi.n.tags[attrs.Tag]--
		return errors.Join(err, vi.openPort())
	}
	vi.n.tags[old.Tag]--
	return nil
}
