// Package nic is the seam between the VI Architecture (package vipl) and the
// software NICs below it. It holds the contract and the types that cross it,
// and nothing else: providers live in the folders beside this file (shm, sim,
// and the wrappers trace and fault), the objects that a VI consumer sees live
// in methods/via/vipl.
//
// # Ownership
//
// A Device and everything opened from it belongs to one goroutine at a time
// (its owner; in Viaduct whoever holds the engine lock of the method). Only
// Sleeper.Sleep and Sleeper.Wake may be called beside the owner.
//
// A posted Descriptor, and the memory its segments name, belong to the device
// from a successful post until Poll hands the descriptor back in an Event.
package nic

import (
	"log/slog"
	"net/netip"
	"time"
)

// A Provider makes devices of one kind.
type Provider interface {
	// Name is the word behind "via+" in an address, for instance "shm".
	Name() string

	// Open opens a device. It fails with an error that says what to do when
	// the name is taken, may not be used, or a resource limit is reached.
	Open(cfg Config) (Device, error)
}

// A Keyed provider makes devices that protect what they send by a key that all sides share.
type Keyed interface {
	Provider

	// WithKey is the provider with a key instead of any other that it would take. It fails
	// for a key that protects nothing, with an error that does not show it.
	WithKey(key Key) (Provider, error)
}

// An Identified provider makes devices that prove who they are by a key of their own.
type Identified interface {
	Provider

	// WithIdentity is the provider with an identity instead of any that it would take from elsewhere. It fails for one that
	// cannot be read, with an error that does not show the private key.
	WithIdentity(id Identity) (Provider, error)
}

// Config is what a device is opened with. The zero value opens a device that
// can connect but that nobody can connect to.
type Config struct {
	// Listen is the local name under which others reach the device, in the
	// provider's own syntax; empty means that it only connects.
	Listen string

	// Clock tells the time since an arbitrary start; nil means the
	// machine's monotonic clock.
	Clock func() time.Duration

	// Log takes the few events worth a line; nil means slog.Default().
	Log *slog.Logger
}

// A Device is one opened NIC: it moves the data that descriptors describe and
// reports what happened, in order, through Poll.
//
// Nothing here blocks. What takes a conversation with the other side (connect,
// accept, disconnect) starts with a call and ends with an Event.
type Device interface {
	// Caps describes what the device can do. It does not change.
	Caps() Caps

	// LocalAddr is the name others reach the device under, in the
	// provider's syntax. A device opened without a name has a unique one
	// that says who it is but cannot be connected to.
	LocalAddr() string

	// OpenPort makes the NIC's half of a VI, unconnected. The cookie comes
	// back in every Event of the port.
	OpenPort(attrs PortAttrs, cookie any) (Port, error)

	// Register makes memory known to the device under a protection tag.
	// Local access is always allowed; access says what a remote side may do
	// to it over ports of the same tag. mem must stay reachable and must not
	// move until Deregister returned nil.
	Register(mem []byte, access Access, tag ProtectionTag) (Handle, error)

	// Deregister withdraws the memory: after it returned nil no remote side
	// reads or writes it any more, whatever that side does. It returns
	// ErrBusy while a remote access is under way; the memory is then already
	// closed to new accesses and the caller asks again after a Poll.
	Deregister(h Handle) error

	// Accept joins a pending connect request to an idle port; EventConnected
	// follows on both sides, or EventDisconnected on this one. Reject refuses
	// it; the other side sees EventConnectFailed with a RejectError that
	// carries reason (at most RejectReasonMax bytes).
	Accept(req RequestID, p Port) error
	Reject(req RequestID, reason []byte) error

	// Poll makes progress and fills out with what happened, oldest first,
	// and reports how many. Events of one port come in the order in which
	// its descriptors were posted, per queue. A device whose out is full
	// keeps the rest for the next call.
	Poll(out []Event) int

	// NextDeadline tells when the device next wants a Poll even if nothing
	// arrives; ok is false if never.
	NextDeadline() (at time.Duration, ok bool)

	// Close ends everything. Descriptors still posted come back no more; no
	// remote side touches registered memory once Close has returned.
	Close() error
}

// A Port is the NIC's half of one VI.
type Port interface {
	// Connect asks the device at addr for a connection. private travels with
	// the request (at most PrivateDataMax bytes; the VI discriminator and
	// what a method adds). EventConnected or EventConnectFailed follows,
	// the latter with ErrTimeout when timeout passes first (0: the
	// provider's own limit).
	Connect(addr string, private []byte, timeout time.Duration) error

	// PostRecv appends a receive descriptor. Descriptors may be posted
	// before the port is connected.
	PostRecv(d *Descriptor) error

	// PostSend appends a send, RDMA write or RDMA read descriptor (d.Op).
	// If the device finished it within the call, it returns done, d carries
	// its Status, and no Event follows.
	PostSend(d *Descriptor) (done bool, err error)

	// Disconnect ends the connection. Every descriptor still posted comes
	// back with StatusFlushed, then one EventDisconnected. The remote side
	// sees the same, after what it was already sent. On a port that is idle
	// again, because its attempt to connect just failed, it flushes the
	// receives that are posted, and reports EventDisconnected if there were any.
	Disconnect()

	// Close frees an idle or disconnected port.
	Close() error
}

// A Sleeper is a device whose owner can block until something arrives. A
// device in simulated time is none.
//
// The protocol is Arm (owner); if true, Sleep (no lock); Disarm (owner). An
// arrival between Arm and Sleep makes Sleep return at once.
type Sleeper interface {
	// Arm asks that arrivals from now on end Sleep. It reports false if
	// something is there already: then Poll, do not sleep.
	Arm() bool
	// Disarm takes Arm back: the owner polls again and needs no wake-ups.
	Disarm()
	// Sleep returns on an arrival, a Wake or when timeout (< 0: never) passes.
	Sleep(timeout time.Duration)
	// Wake ends the current Sleep, or the next one if none is under way. Any
	// goroutine may call it.
	Wake()
}

// An Allocator is a device with memory of its own that it moves more cheaply
// than any other.
type Allocator interface {
	// Alloc gives memory. shared asks for such that other devices put bytes of files into
	// (Caps.FileWrites) with one copy less than into any other, if there is a choice: for
	// other transfers it may be the slower one.
	Alloc(size int, shared bool) ([]byte, error)
	// Free takes memory from Alloc back.
	Free(mem []byte) error
}

// A Sourcer is a port that knows the network address of the other side. Connect requests have names of the requester's choice.
type Sourcer interface {
	// SourceAddr is where the packets of a connected port come from. It is not valid before.
	SourceAddr() netip.AddrPort
}

// An Authenticator is a port that knows by which name the other side has authenticated itself.
type Authenticator interface {
	// AuthenticatedName is the name that the other side of a connected port has proved to have, and "" without a connection or a proof.
	AuthenticatedName() string
}

// A Namer is a device that tells a wrong address before anybody connects to it, and
// whether two addresses are the same but for how they are written.
type Namer interface {
	// CanonicalAddr is an address to connect to in the form in which the device
	// itself writes it. Its error is ErrBadAddress, wrapped.
	CanonicalAddr(addr string) (string, error)
}

// Caps are a device's capabilities and limits. Callers choose by these and
// never by a provider's name.
type Caps struct {
	// InlineBytesMax is the largest payload that travels inside a
	// completion entry, without touching a buffer. A payload that is no
	// longer is never lent (FlagLoan).
	InlineBytesMax int
	// MTUBytes is the largest payload of one send descriptor.
	MTUBytes int
	// SegmentsMax bounds a descriptor's segments.
	SegmentsMax int
	// RecvDepthMax and SendDepthMax bound a port's queues, in descriptors.
	RecvDepthMax, SendDepthMax int
	// LoansRecv: the device has receive buffers of its own and completes a
	// receive descriptor with FlagLoan with a view of one.
	LoansRecv bool
	// UnregisteredSend: send segments may lie in memory never registered.
	UnregisteredSend bool
	// RDMAWrite, RDMARead: what the device moves without the remote side's
	// help. Both may be used on the same pair of buffers at the same time.
	RDMAWrite, RDMARead bool
	// RDMACopies: RDMA is a copy by the processor of the side that posts it, so
	// that a message of which each side moves a half takes half the time.
	RDMACopies bool
	// FileWrites: an RDMA write may take its bytes from a file (Descriptor.File).
	FileWrites bool
	// RDMABytesMax is the largest length of one RDMA descriptor.
	RDMABytesMax int
	// Reliability is the highest level a port may ask for.
	Reliability Reliability
	// CopiesOnPost: a send is finished when PostSend returns.
	CopiesOnPost bool
}

// Reliability is a VI reliability level (VI Architecture 1.0, section 2.4).
type Reliability uint8

const (
	// Unreliable delivery: data may be lost, but neither corrupted nor
	// delivered twice.
	Unreliable Reliability = iota
	// ReliableDelivery: exactly once, in order, or the connection breaks. A
	// send completes when the data is on its way.
	ReliableDelivery
	// ReliableReception: as ReliableDelivery, and a send completes only when
	// the data is in the remote memory.
	ReliableReception
)

// PortAttrs are chosen when a port is opened.
type PortAttrs struct {
	Reliability Reliability
	Tag         ProtectionTag
	// RecvDepth and SendDepth bound the queues, in descriptors.
	RecvDepth, SendDepth int
	// RemoteWrite, RemoteRead allow the remote side RDMA over this port.
	RemoteWrite, RemoteRead bool
}

// ProtectionTag joins ports and memory that may be used together; 0 is none.
type ProtectionTag uint32

// Handle names registered memory of one device; 0 is none. It may be sent to
// the remote side, which names the memory by it in an RDMA descriptor.
type Handle uint64

// RequestID names a connect request that waits for Accept or Reject.
type RequestID uint64

// Access says what a remote side may do to registered memory.
type Access uint8

const (
	AccessRemoteWrite Access = 1 << iota
	AccessRemoteRead
)

// Op is what a descriptor asks for.
type Op uint8

const (
	OpSend Op = iota
	OpRecv
	OpRDMAWrite
	OpRDMARead
)

// Flags of a descriptor.
type Flags uint8

const (
	// FlagImmediate: Immediate is valid (set by the sender; on a completed
	// receive it says that the sender sent some).
	FlagImmediate Flags = 1 << iota
	// FlagLoan on a receive: the device may answer with a view in Data
	// instead of filling Segments: of Inline, or, if the payload is longer
	// than Caps.InlineBytesMax, of a buffer of the device, which is lent.
	// The view is the consumer's until the descriptor is posted again or the
	// port is closed. The remote side may be able to write a lent buffer all
	// that time: the consumer reads every byte of it once, and shows nobody
	// the view.
	FlagLoan
)

// Status is how a descriptor ended.
type Status uint8

const (
	StatusPending         Status = iota // posted, or never posted
	StatusSuccess                       // done as asked
	StatusFlushed                       // the connection ended first
	StatusLengthError                   // a message was longer than its receive, or than the limit
	StatusProtectionError               // memory, tag and access do not fit together locally
	StatusRDMAError                     // the remote memory may not be accessed so
	StatusTransportError                // the link failed or the remote side broke the rules
	StatusNoDescriptor                  // the remote side had no receive posted
	StatusFileError                     // the file cannot be read; Descriptor.File.Err says why
)

// A Segment is one piece of local memory.
type Segment struct {
	Data   []byte
	Handle Handle // of the registration that covers Data; 0 where Caps allow
}

// A Remote names memory of the remote side, for RDMA.
type Remote struct {
	Addr   uint64 // address in the remote side's terms
	Handle Handle // as the remote side's Register returned it
}

// InlineMax bounds Caps.InlineBytesMax for every provider, in bytes.
const InlineMax = 56

// Limits on what travels with connect requests, in bytes.
const (
	PrivateDataMax  = 256
	RejectReasonMax = 128
)

// A Descriptor is one unit of work: a control part, an address part for RDMA
// and data segments, as in the VI Architecture. Its owner fills the first
// part, the device the second.
type Descriptor struct {
	Op        Op
	Flags     Flags
	Immediate uint32
	Remote    Remote
	Segments  []Segment
	// File, in Segments' place, is where an RDMA write takes its bytes; its File is nil if
	// it is not used.
	File FileRange

	// Status, Length (payload bytes moved) and, for a loan, Data are valid
	// once the descriptor came back. Data aliases Inline or a device buffer.
	Status Status
	Length int
	Data   []byte
	Inline [InlineMax]byte

	// Cookie is the owner's; the device does not touch it.
	Cookie any
	// Next links descriptors in whatever list their present owner keeps.
	Next *Descriptor
}

// EventKind says what happened.
type EventKind uint8

const (
	// EventRecv and EventSend hand back a descriptor of the receive queue,
	// or of the send queue (sends and RDMA).
	EventRecv EventKind = iota + 1
	EventSend
	// EventConnectRequest: Conn names a remote side that asks to connect.
	EventConnectRequest
	// EventConnected: the port may send. Conn.Remote is the other side.
	EventConnected
	// EventConnectFailed: Connect ended without a connection; Conn.Err.
	EventConnectFailed
	// EventDisconnected: the last event of a connection; Conn.Err is nil if
	// this side asked for it, else says why it ended.
	EventDisconnected
	// EventError is asynchronous and belongs to the device (Cookie nil) or a
	// port; Conn.Err says what. The connection, if any, stays.
	EventError
)

// An Event is one thing that happened.
type Event struct {
	Kind   EventKind
	Cookie any         // of the port; nil where there is none
	Desc   *Descriptor // EventRecv, EventSend
	Conn   *ConnEvent  // the others
}

// A ConnEvent is the rare part of an Event.
type ConnEvent struct {
	Request RequestID
	Remote  string // the other side's LocalAddr, as far as it is known
	Private []byte // what came with the connect request
	Err     error
	// User, of a connect request, is the user that runs the requester, when it connected; nil if the
	// provider does not know.
	User *User
	// OtherUser: that is neither this process's user nor root. Remote begins with OtherUserMark and the
	// uid, so it is never the name of a third user's device; nobody can connect to it.
	OtherUser bool
}

// An RDMAPort is a port whose device has RDMA in its Caps but may find, once
// connected, that the machine forbids it towards this remote side.
type RDMAPort interface {
	// RDMAUsable reports whether both sides of the connection may use RDMA
	// on each other. It is settled when EventConnected is reported; if it is
	// false, RDMA descriptors end with StatusRDMAError.
	RDMAUsable() bool
}

// RDMAUsable tells whether RDMA works over a connected port: a port that is no
// RDMAPort has what its device's Caps say.
func RDMAUsable(p Port) bool {
	r, ok := p.(RDMAPort)
	return !ok || r.RDMAUsable()
}
