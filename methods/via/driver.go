package via

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/methods/inbox"
	"github.com/viaduct-hpc/viaduct/methods/via/link"
	"github.com/viaduct-hpc/viaduct/methods/via/nic"
	"github.com/viaduct-hpc/viaduct/methods/via/wire"
	"github.com/viaduct-hpc/viaduct/peer"
)

// Options are the method's own options, for bmi.Config.Options. The zero value
// means the defaults.
type Options struct {
	// EagerBytes is the largest message that is sent without asking; at most,
	// and by default, EagerBytesMax.
	EagerBytes int
	// SplitBytes is the size from which both sides move a half each of a
	// large message; by default SplitBytesMin if the NIC gains by it
	// (nic.Caps.RDMACopies), else none is divided.
	SplitBytes int
	// Credits is the number of receives posted for each peer; at least
	// wire.CreditsMin, by default CreditsPerPeer.
	Credits int
	// ConnectTimeout is how long sends wait for a connection; by default
	// the constant of that name.
	ConnectTimeout time.Duration
	// RetryAbsent keeps trying, until ConnectTimeout, to connect to an address
	// where no endpoint listens yet. For jobs whose processes start together.
	RetryAbsent bool
	// KeepAlive is how long a peer may be silent before it is asked for a
	// sign of life. After four times as long it counts as failed. 0: it is
	// never asked. A NIC that notices the death of a peer does not need it.
	KeepAlive time.Duration
	// Key is the key that all sides share, nic.KeyBytes random bytes, for a NIC that protects
	// what it sends (via+udp). It takes precedence over the environment, which applies if Key
	// is nil.
	Key nic.Key
	// OtherUsers lets every user of this machine connect, over a NIC that is otherwise for processes of one user
	// (via+shm). A program that sets it must check each peer's user: bmi.Endpoint.LocalUser.
	OtherUsers bool
	// TrustUsers are the users whose endpoints this one connects to over such a NIC, besides its own user and
	// root. If several of them have an endpoint of the same name, the first in the list is chosen.
	TrustUsers []uint32
	// Identity is this endpoint's own static key and those of other endpoints, for a NIC that authenticates by them
	// (via+udp). It takes precedence over the environment, too. With Key, both kinds of keys are used. nil: none.
	Identity *nic.Identity
	// Idle is called by Close when there is nothing to do, with the time that
	// is left. If it is nil, Close sleeps on the NIC. In a simulation it
	// advances virtual time; the context of Close, which knows only real
	// time, is then ignored.
	Idle func(left time.Duration)
	// Seed makes session and jitter repeatable in simulation; 0: random.
	Seed uint64
	// Version is the protocol version that this side announces; 0:
	// wire.Version. Only tests set it.
	Version uint16
}

// Driver returns the driver of the VIA method over one provider of NICs. Its
// addresses are via+PROVIDER://NAME.
func Driver(p nic.Provider) bmi.Driver {
	if _, ok := p.(nic.Keyed); ok {
		return keyed{driver{p}}
	}
	if _, ok := p.(nic.MultiUser); ok {
		return shared{driver{p}}
	}
	return driver{p}
}

type driver struct{ provider nic.Provider }

// Name is the scheme of the addresses.
func (d driver) Name() string { return "via+" + d.provider.Name() }

// Open opens a NIC and the method on it.
func (d driver) Open(_ context.Context, cfg bmi.MethodConfig) (bmi.Method, error) {
	opts, err := options(cfg.Options)
	if err != nil {
		return nil, err
	}
	provider, err := withKeys(d.provider, &opts)
	if err != nil {
		return nil, err
	}
	if provider, err = withUsers(provider, &opts); err != nil {
		return nil, err
	}
	quiet(provider, &cfg)
	host, err := listenHost(d.Name(), cfg.Listen)
	if err != nil {
		return nil, err
	}
	links, err := link.Open(provider, link.Config{Listen: host, Clock: cfg.Clock, Log: cfg.Log, Credits: opts.Credits})
	if err != nil {
		if errors.Is(err, link.ErrUnsuitable) {
			return nil, fmt.Errorf("%w: %w", bmi.ErrNotSupported, err)
		}
		if errors.Is(err, nic.ErrNameTaken) {
			return nil, fmt.Errorf("%w: %s://%s: %w", bmi.ErrNameTaken, d.Name(), host, err)
		}
		if errors.Is(err, nic.ErrBadAddress) {
			return nil, fmt.Errorf("%w: %w", bmi.ErrBadAddress, err)
		}
		return nil, fmt.Errorf("via: %w", err)
	}
	if host != "" {
		host = links.LocalAddr() // with the port, if it was the NIC that chose it
	}
	m := newMethod(d.Name(), host, links, cfg, opts)
	if links.CanSleep() {
		return &sleeper{m}, nil
	}
	return m, nil
}

func options(o any) (Options, error) {
	var opts Options
	switch o := o.(type) {
	case nil:
	case Options:
		opts = o
	case *Options:
		if o != nil {
			opts = *o
		}
	default:
		return opts, fmt.Errorf("%w: options of type %T, want via.Options", bmi.ErrInvalid, o)
	}
	if opts.Credits == 0 {
		opts.Credits = CreditsPerPeer
	}
	if opts.EagerBytes == 0 {
		opts.EagerBytes = EagerBytesMax
	}
	if opts.ConnectTimeout == 0 {
		opts.ConnectTimeout = ConnectTimeout
	}
	if opts.Version == 0 {
		opts.Version = wire.Version
	}
	switch {
	case opts.Credits < wire.CreditsMin || opts.Credits > wire.CreditsMax:
		return opts, fmt.Errorf("%w: %d credits, want %d to %d", bmi.ErrInvalid, opts.Credits, wire.CreditsMin, wire.CreditsMax)
	case opts.EagerBytes < 0 || opts.EagerBytes > EagerBytesMax:
		return opts, fmt.Errorf("%w: eager messages of %d bytes, the limit is %d", bmi.ErrInvalid, opts.EagerBytes, EagerBytesMax)
	}
	return opts, nil
}

// listenHost is the name that a NIC is opened with.
func listenHost(scheme string, addresses []string) (string, error) {
	switch len(addresses) {
	case 0:
		return "", nil
	case 1:
	default:
		return "", fmt.Errorf("%w: %d addresses to listen on, a NIC has one name", bmi.ErrInvalid, len(addresses))
	}
	host, ok := strings.CutPrefix(addresses[0], scheme+"://")
	if !ok || host == "" {
		return "", fmt.Errorf("%w: %q, want %s://NAME", bmi.ErrBadAddress, addresses[0], scheme)
	}
	if err := checkHost(host); err != nil {
		return "", fmt.Errorf("%w: %q: %w", bmi.ErrBadAddress, addresses[0], err)
	}
	return host, nil
}

// splitText says in words from which size on both sides copy.
func (m *method) splitText() string {
	if m.splitBytes > ExpectedBytesMax {
		return "never"
	}
	return strconv.Itoa(m.splitBytes) + " B"
}

// splitBytes is Options.SplitBytes, or what suits the NIC.
func (o *Options) splitBytes(caps nic.Caps) int {
	switch {
	case o.SplitBytes > 0:
		return o.SplitBytes
	case caps.RDMACopies:
		return SplitBytesMin
	default:
		return ExpectedBytesMax + 1
	}
}

func newMethod(name, host string, links *link.Links, cfg bmi.MethodConfig, opts Options) *method {
	caps := links.Caps()
	_, hasMemory := links.Device().(nic.Allocator)
	m := &method{
		links: links, caps: caps, host: cfg.Host, hasMemory: hasMemory,
		name: name, log: cfg.Log, clock: cfg.Clock,
		splitBytes:      opts.splitBytes(caps),
		letPass:         opts.Idle,
		eagerBytes:      min(opts.EagerBytes, EagerPacketsMax*(caps.MTUBytes-wire.HeaderLen)),
		directBytes:     links.DirectBytes(),
		seed:            opts.Seed,
		remotes:         peer.NewIDs[*remote](peer.IDMax, peer.IDQuarantine),
		byHost:          make(map[string]*remote),
		waitingRequests: make(map[peer.Request]*link.Request),
	}
	links.Serve((*consumer)(m))
	// Every peer learns the session. The seed of the match table must stay
	// secret, or a peer could choose tags that collide.
	session, secret := opts.Seed, opts.Seed
	if opts.Seed == 0 {
		session, secret = random64(), random64()
	}
	m.seed = secret
	m.inbox = inbox.New(inbox.Options{
		Seed: secret, EagerBytes: ExpectedBytesMax, Host: cfg.Host, Buffers: &m.buffers, Errors: &m.errors,
	})
	m.peerConfig = peer.DefaultConfig()
	m.peerConfig.Local = peer.Hello{
		Version: opts.Version, Session: session, Name: host,
		Credits: uint16(links.Depth()), EagerBytes: uint32(m.eagerBytes),
	}
	m.peerConfig.ConnectTimeout = opts.ConnectTimeout
	m.peerConfig.ResendAfter = 0 // a reliable link loses nothing
	m.peerConfig.RetryMin, m.peerConfig.RetryMax = ConnectRetryMin, ConnectRetryMax
	m.peerConfig.RetryAbsent = opts.RetryAbsent
	m.peerConfig.KeepAliveAfter, m.peerConfig.DeadAfter = opts.KeepAlive, 4*opts.KeepAlive
	return m
}

// random64 draws a number that is not 0.
func random64() (n uint64) {
	for n == 0 {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails, says its documentation
		n = binary.LittleEndian.Uint64(b[:])
	}
	return n
}

// Info describes the method (bmi.Method).
func (m *method) Info() bmi.Info {
	q := m.links.Query()
	info := bmi.Info{
		Name:              m.name,
		Description:       "64-bit matched messages over a VI Architecture NIC",
		Provider:          q.Provider,
		MaxExpectedSize:   ExpectedBytesMax,
		MaxUnexpectedSize: m.eagerBytes,
		EagerSize:         m.eagerBytes,
		MaxPieces:         PiecesMax,
		Classes:           true,
		RegisteredMemory:  m.hasMemory,
		RemoteRead:        m.caps.RDMARead,
		RemoteWrite:       m.caps.RDMAWrite,
		FileSends:         m.caps.FileWrites,
		Details: [][2]string{
			{"NIC address", q.Address},
			{"packet", strconv.Itoa(m.caps.MTUBytes) + " B"},
			{"inline", strconv.Itoa(m.caps.InlineBytesMax) + " B"},
			{"credits per peer", strconv.Itoa(m.links.Depth())},
			{"both sides copy from", m.splitText()},
			{"protocol version", strconv.Itoa(wire.Version)},
		},
	}
	if m.peerConfig.Local.Name != "" {
		info.Addresses = []string{m.name + "://" + m.peerConfig.Local.Name}
	}
	return info
}

// Alloc gives memory that the NIC moves more cheaply (bmi.Allocator).
func (m *method) Alloc(size int) ([]byte, error) { return m.alloc(size, m.links.Alloc) }

// AllocShared gives memory that peers write to from files by one copy (bmi.SharedAllocator).
func (m *method) AllocShared(size int) ([]byte, error) { return m.alloc(size, m.links.AllocShared) }

func (m *method) alloc(size int, alloc func(int) ([]byte, error)) ([]byte, error) {
	if !m.hasMemory {
		return make([]byte, size), nil
	}
	mem, err := alloc(size)
	if err != nil {
		return nil, fmt.Errorf("via: %w", err)
	}
	return mem, nil
}

// Free takes it back.
func (m *method) Free(mem []byte) error {
	if !m.hasMemory {
		return nil
	}
	if err := m.links.Free(mem); err != nil {
		return fmt.Errorf("via: %w", err)
	}
	return nil
}

// Source is the network address that the packets of a peer that connected to us come from (bmi.Sourcer).
func (m *method) Source(p bmi.Peer) netip.AddrPort {
	if at := p.(*remote).source.Load(); at != nil {
		return *at
	}
	return netip.AddrPort{}
}

// AuthenticatedName is the name that a connected peer has proved to have to the provider (bmi.Authenticator).
func (m *method) AuthenticatedName(p bmi.Peer) string {
	return p.(*remote).link.AuthenticatedName()
}

// InRange tells whether a peer's address matches a pattern in the syntax of
// path.Match (bmi.Ranger), with or without the scheme. Of a peer that connected to us the source address has to match.
func (m *method) InRange(p bmi.Peer, pattern string) (bool, error) {
	r := p.(*remote)
	pattern = strings.TrimPrefix(pattern, m.name+"://")
	host := r.host()
	if at := r.source.Load(); at != nil {
		host = at.String()
	}
	ok, err := path.Match(pattern, host)
	if err != nil {
		return false, fmt.Errorf("%w: pattern %q: %w", bmi.ErrInvalid, pattern, err)
	}
	return ok, nil
}
