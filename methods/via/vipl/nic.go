package vipl

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/viaduct-hpc/viaduct/methods/via/nic"
)

// Limits of one NIC.
const (
	// PollBatch is how many events are taken from the device at a time.
	PollBatch = 64
	// RequestsMax is how many connect requests can wait for a ConnectWait or a
	// ConnectPeerRequest. If there are more, the oldest are rejected.
	RequestsMax = 256
)

// NICConfig is what a NIC is opened with.
type NICConfig struct {
	// Listen is the local name under which others reach the NIC, in the
	// provider's syntax; empty for a NIC that only connects.
	Listen string

	// Clock is the time since an arbitrary start; nil means the machine's
	// monotonic clock.
	Clock func() time.Duration

	// Log receives warnings; nil means slog.Default().
	Log *slog.Logger

	// TimedOut is nic.Config.TimedOut.
	TimedOut func(remote string)

	// Events makes PollEvents report connect requests and changes of
	// connections, in order with the completions. Without it, requests are
	// taken by ConnectWait, and states by VI.Query.
	Events bool

	// Idle is called by calls that wait, when there is nothing to do, with the
	// time that is left (< 0: no limit). If it is nil they sleep by the
	// provider's Sleeper. In a simulation it advances virtual time.
	Idle func(timeout time.Duration)
}

// A NIC is one opened network interface controller and everything made from it.
// It belongs to one goroutine at a time.
type NIC struct {
	// What Poll touches comes first.
	dev      nic.Device
	direct   nic.DirectDevice // dev, if it is one; else nil
	at, have int              // 0 ≤ at ≤ have: buf[at:have] came from the device but is not delivered
	events   []ConnEvent      // for PollEvents, oldest first
	slow     int              // > 0 while there are peer-to-peer connects or notify handlers
	closed   bool

	cfg      NICConfig
	provider string
	caps     nic.Caps
	sleeper  nic.Sleeper // nil if the device cannot sleep
	alloc    nic.Allocator
	onError  func(AsyncError)
	names    NameService
	requests []*ConnRequest // for ConnectWait and the peer model, oldest first
	peering  []*VI          // VIs in a peer-to-peer connect
	notices  []notifier     // queues with a notify handler
	tags     map[ProtectionTag]int
	lastTag  ProtectionTag
	memory   map[Handle]*Memory
	vis, cqs int
	info     SystemInfo

	buf [PollBatch]nic.Event
}

// OpenNIC opens a NIC of the provider. It fails if the provider's Open does, with
// that error.
func OpenNIC(p nic.Provider, cfg NICConfig) (*NIC, error) {
	if cfg.Clock == nil {
		start := time.Now()
		cfg.Clock = func() time.Duration { return time.Since(start) }
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	dev, err := p.Open(nic.Config{Listen: cfg.Listen, Clock: cfg.Clock, Log: cfg.Log, TimedOut: cfg.TimedOut})
	if err != nil {
		return nil, err // it names the provider and the address
	}
	n := &NIC{
		dev:      dev,
		cfg:      cfg,
		provider: p.Name(),
		caps:     dev.Caps(),
		tags:     make(map[ProtectionTag]int),
		memory:   make(map[Handle]*Memory),
	}
	n.direct, _ = dev.(nic.DirectDevice)
	n.sleeper, _ = dev.(nic.Sleeper)
	n.alloc, _ = dev.(nic.Allocator)
	return n, nil
}

// NICAttributes describe a NIC.
type NICAttributes struct {
	// Provider is the provider's name, Address the NIC's.
	Provider, Address string
	// Caps are the device's capabilities and limits.
	Caps nic.Caps
	// DiscriminatorMax and PrivateMax bound, in bytes, what travels with a
	// connect request.
	DiscriminatorMax, PrivateMax int
	// ThreadSafe is false: a NIC belongs to one goroutine at a time.
	ThreadSafe bool
}

// Query describes the NIC.
func (n *NIC) Query() NICAttributes {
	return NICAttributes{
		Provider:         n.provider,
		Address:          n.dev.LocalAddr(),
		Caps:             n.caps,
		DiscriminatorMax: DiscriminatorMax,
		PrivateMax:       PrivateMax,
	}
}

// Caps are the device's capabilities and limits, which do not change.
func (n *NIC) Caps() nic.Caps { return n.caps }

// LocalAddr is the name under which others reach the NIC.
func (n *NIC) LocalAddr() string { return n.dev.LocalAddr() }

// Device is the device below, for what this package does not cover.
func (n *NIC) Device() nic.Device { return n.dev }

// Close ends everything made from the NIC. Descriptors that are still posted do not
// come back. Afterwards no remote side accesses registered memory.
func (n *NIC) Close() error {
	if n.closed {
		return nil
	}
	n.closed = true
	n.at, n.have, n.events, n.requests = 0, 0, nil, nil
	n.peering, n.notices, n.slow = nil, nil, 0
	if err := n.dev.Close(); err != nil {
		return fmt.Errorf("vipl: close %s: %w", n.provider, err)
	}
	return nil
}

// Alloc allocates memory that the device moves more cheaply than any other. It
// returns ErrNotSupported if the device has none.
func (n *NIC) Alloc(size int) ([]byte, error) {
	if n.alloc == nil {
		return nil, fmt.Errorf("%w: memory of its own", ErrNotSupported)
	}
	return n.alloc.Alloc(size, false)
}

// AllocShared allocates memory to which remote devices write from files with one copy
// less than to other memory.
func (n *NIC) AllocShared(size int) ([]byte, error) {
	if n.alloc == nil {
		return nil, fmt.Errorf("%w: memory of its own", ErrNotSupported)
	}
	return n.alloc.Alloc(size, true)
}

// Free takes back memory from Alloc or AllocShared.
func (n *NIC) Free(mem []byte) error {
	if n.alloc == nil {
		return fmt.Errorf("%w: memory of its own", ErrNotSupported)
	}
	return n.alloc.Free(mem)
}

// CreatePtag makes a protection tag.
func (n *NIC) CreatePtag() (ProtectionTag, error) {
	if n.closed {
		return 0, errDestroyed
	}
	n.lastTag++
	n.tags[n.lastTag] = 0
	return n.lastTag, nil
}

// DestroyPtag frees a tag. It fails with ErrResource while a VI or memory uses it.
func (n *NIC) DestroyPtag(tag ProtectionTag) error {
	users, ok := n.tags[tag]
	switch {
	case !ok:
		return fmt.Errorf("%w: %d", ErrInvalidPtag, tag)
	case users > 0:
		return fmt.Errorf("%w: protection tag %d has %d users", ErrResource, tag, users)
	}
	delete(n.tags, tag)
	return nil
}

func (n *NIC) useTag(tag ProtectionTag) error {
	if _, ok := n.tags[tag]; !ok {
		return fmt.Errorf("%w: %d", ErrInvalidPtag, tag)
	}
	n.tags[tag]++
	return nil
}
