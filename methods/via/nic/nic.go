// Package nic is the seam between the VI Architecture (package vipl) and the software NICs below it. It holds only the contract
// and its types. Providers are in the folders beside this file (shm, udp, sim, and the wrappers trace and fault), and the
// objects that a VI consumer sees in methods/via/vipl.
//
// # Ownership
//
// A Device and everything opened from it belongs to one goroutine at a time, its owner (in Viaduct, the holder of the method's
// engine lock). Only Sleeper.Sleep and Sleeper.Wake may be called by other goroutines.
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
	// Name is the part behind "via+" in an address, for instance "shm".
	Name() string

	// Open opens a device. If the name is taken or not allowed, or a resource limit is reached, it fails with an error that
	// says what to do.
	Open(cfg Config) (Device, error)
}

// A Keyed provider makes devices that protect their packets with a key that all sides share.
type Keyed interface {
	Provider

	// WithKey returns the provider with this key instead of any other that it would use. It fails for a key that protects
	// nothing, with an error that does not show the key.
	WithKey(key Key) (Provider, error)
}

// An Identified provider makes devices that authenticate themselves with a key of their own.
type Identified interface {
	Provider

	// WithIdentity returns the provider with this identity instead of any other that it would use. It fails for one that cannot
	// be read, with an error that does not show the private key.
	WithIdentity(id Identity) (Provider, error)
}

// Config configures a device. The zero value opens a device that can connect but cannot be connected to.
type Config struct {
	// Listen is the local name under which others reach the device, in the provider's own syntax. It is empty for a device that
	// only connects.
	Listen string

	// Clock tells the time since an arbitrary start; nil means the
	// machine's monotonic clock.
	Clock func() time.Duration

	// Log takes the few events worth a line; nil means slog.Default().
	Log *slog.Logger

	// TimedOut is called, within a call of the device, when packets to a remote side are sent again because nothing arrived from
	// it. It may be nil.
	TimedOut func(remote string)
}

// A Device is one opened NIC: it moves the data of descriptors and reports events, in order, through Poll.
//
// Nothing here blocks. Operations that need the other side (connect, accept, disconnect) start with a call and end with an
// Event.
type Device interface {
	// Caps describes what the device can do. It does not change.
	Caps() Caps

	// LocalAddr is the name under which others reach the device, in the provider's syntax. A device opened without a name has a
	// unique address that identifies it but cannot be connected to.
	LocalAddr() string

	// OpenPort makes the NIC's half of a VI, unconnected. Every Event of the port carries the cookie.
	OpenPort(attrs PortAttrs, cookie any) (Port, error)

	// Register makes memory known to the device under a protection tag. Local access is always allowed. access says what a
	// remote side may do to the memory over ports with the same tag. mem must stay reachable and must not move until Deregister
	// has returned nil.
	Register(mem []byte, access Access, tag ProtectionTag) (Handle, error)

	// Deregister withdraws the memory. After it has returned nil no remote side can read or write the memory any more. It
	// returns ErrBusy while a remote access is under way; the memory is then already closed to new accesses, and the caller
	// must call again after a Poll.
	Deregister(h Handle) error

	// Accept joins a pending connect request to an idle port. EventConnected follows on both sides, or EventDisconnected on
	// this one. Reject refuses the request; the other side gets EventConnectFailed with a RejectError that carries reason (at
	// most RejectReasonMax bytes).
	Accept(req RequestID, p Port) error
	Reject(req RequestID, reason []byte) error

	// Poll makes progress, stores events in out, oldest first, and returns their number. Events of one port come in the order
	// in which its descriptors were posted, per queue. If out is full the device keeps the rest for the next call.
	Poll(out []Event) int

	// NextDeadline returns when the device next wants a Poll even if nothing arrives; ok is false if never.
	NextDeadline() (at time.Duration, ok bool)

	// Close ends everything. Descriptors still posted do not come back. No remote side touches registered memory once Close has
	// returned.
	Close() error
}

// A Port is the NIC's half of one VI.
type Port interface {
	// Connect requests a connection from the device at addr. private is sent with the request (at most PrivateDataMax bytes:
	// the VI discriminator and the method's own data). EventConnected or EventConnectFailed follows. If timeout passes first,
	// it is EventConnectFailed with ErrTimeout (0: the provider's own limit).
	Connect(addr string, private []byte, timeout time.Duration) error

	// PostRecv appends a receive descriptor. Descriptors may be posted
	// before the port is connected.
	PostRecv(d *Descriptor) error

	// PostSend appends a send, RDMA write or RDMA read descriptor (d.Op).
	// If the device finished it within the call, it returns done, d carries
	// its Status, and no Event follows.
	PostSend(d *Descriptor) (done bool, err error)

	// Disconnect ends the connection. Every posted descriptor comes back with StatusFlushed, followed by one EventDisconnected.
	// The remote side sees the same, after the messages already sent. On a port that is idle again because its connect failed,
	// Disconnect flushes the posted receives, and reports EventDisconnected if there were any.
	Disconnect()

	// Close frees an idle or disconnected port.
	Close() error
}

// A Sleeper is a device whose owner can block until something arrives. A device in simulated time is not a Sleeper.
//
// The owner calls Arm, then Sleep (without a lock) if Arm reported true, then Disarm. An arrival between Arm and Sleep makes
// Sleep return at once.
type Sleeper interface {
	// Arm makes later arrivals end Sleep. It reports false if something is already there: then poll instead of sleeping.
	Arm() bool
	// Disarm undoes Arm: the owner polls again and needs no wake-ups.
	Disarm()
	// Sleep returns on an arrival, a Wake or when timeout (< 0: never) passes.
	Sleep(timeout time.Duration)
	// Wake ends the current Sleep, or the next one if none is under way. Any
	// goroutine may call it.
	Wake()
}

// An Allocator is a device with its own memory, which it moves more cheaply than any other.
type Allocator interface {
	// Alloc returns memory. shared asks for memory into which other devices can write bytes of files (Caps.FileWrites) with one
	// copy less than into other memory, if there is a choice. For other transfers such memory may be slower.
	Alloc(size int, shared bool) ([]byte, error)
	// Free takes back memory from Alloc.
	Free(mem []byte) error
}

// A Sourcer is a port that knows the network address of the other side. The name in a connect request, in contrast, is the
// requester's choice.
type Sourcer interface {
	// SourceAddr is the address from which the packets of a connected port come. It is not valid before.
	SourceAddr() netip.AddrPort
}

// An Authenticator is a port that knows the authenticated name of the other side.
type Authenticator interface {
	// AuthenticatedName is the name that the other side of a connected port has proved; "" without a connection or a proof.
	AuthenticatedName() string
}

// A Namer is a device that can check an address before connecting to it, and tell whether two spellings mean the same address.
type Namer interface {
	// CanonicalAddr returns an address to connect to in the device's own spelling. Its error wraps ErrBadAddress.
	CanonicalAddr(addr string) (string, error)
}

// A Reloader is a device with keys in files, which can change while it is open.
type Reloader interface {
	// KeyFiles are their names.
	KeyFiles() []string
	// Reload reads them again. Unlike other methods it may be called beside them. use puts the keys into effect, for connections
	// that are made from now on; nil: there is nothing to read. After an error nothing has changed.
	Reload() (use func(), err error)
}

// Caps are a device's capabilities and limits. Callers must decide by these and never by a provider's name.
type Caps struct {
	// InlineBytesMax is the largest payload that travels inside a completion entry, without touching a buffer. Payloads up to
	// this size are never lent (FlagLoan).
	InlineBytesMax int
	// MTUBytes is the largest payload of one send descriptor.
	MTUBytes int
	// SegmentsMax bounds a descriptor's segments.
	SegmentsMax int
	// RecvDepthMax and SendDepthMax bound a port's queues, in descriptors.
	RecvDepthMax, SendDepthMax int
	// LoansRecv: the device has its own receive buffers and completes a receive descriptor with FlagLoan with a view of one.
	LoansRecv bool
	// UnregisteredSend: send segments may use memory that was never registered.
	UnregisteredSend bool
	// RDMAWrite, RDMARead: transfers that the device makes without the remote side's help. Both may be used on the same pair of
	// buffers at the same time.
	RDMAWrite, RDMARead bool
	// RDMACopies: RDMA is a copy by the processor of the posting side. A message takes half the time if each side moves one
	// half.
	RDMACopies bool
	// RDMANowBytes: an RDMA descriptor of at most so many bytes of memory, posted while no descriptor of the port's send queue is
	// out, is finished when PostSend returns. StatusRDMAError then leaves the connection as it is. 0: there is no such promise.
	RDMANowBytes int
	// FileWrites: an RDMA write may take its bytes from a file (Descriptor.File).
	FileWrites bool
	// RDMABytesMax is the largest length of one RDMA descriptor.
	RDMABytesMax int
	// Reliability is the highest level that a port may request.
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
	// ReliableDelivery: exactly once, in order, or the connection breaks. A send completes when the data has been sent.
	ReliableDelivery
	// ReliableReception: like ReliableDelivery, but a send completes only when the data is in the remote memory.
	ReliableReception
)

// PortAttrs are chosen when a port is opened.
type PortAttrs struct {
	Reliability Reliability
	Tag         ProtectionTag
	// RecvDepth and SendDepth bound the queues, in descriptors.
	RecvDepth, SendDepth int
	// RemoteWrite, RemoteRead allow RDMA by the remote side over this port.
	RemoteWrite, RemoteRead bool
}

// ProtectionTag joins ports and memory that may be used together; 0 means none.
type ProtectionTag uint32

// Handle names registered memory of one device; 0 means none. It may be sent to the remote side, which names the memory with it
// in an RDMA descriptor.
type Handle uint64

// RequestID names a connect request that waits for Accept or Reject.
type RequestID uint64

// Access says how a remote side may access registered memory.
type Access uint8

const (
	AccessRemoteWrite Access = 1 << iota
	AccessRemoteRead
)

// Op is the operation of a descriptor.
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
	// FlagImmediate: Immediate is valid (set by the sender; on a completed receive it means that the sender sent immediate
	// data).
	FlagImmediate Flags = 1 << iota
	// FlagLoan on a receive: the device may return a view in Data instead of filling Segments. It is a view of Inline, or, if
	// the payload is longer than Caps.InlineBytesMax, of a device buffer, which is lent. The view is the consumer's until the
	// descriptor is posted again or the port is closed. If it is Shared, the consumer must read every byte only once and must
	// not pass the view on.
	FlagLoan
)

// Status is the result of a descriptor.
type Status uint8

const (
	StatusPending         Status = iota // posted, or never posted
	StatusSuccess                       // done as asked
	StatusFlushed                       // the connection ended first
	StatusLengthError                   // a message was longer than its receive, or than the limit
	StatusProtectionError               // memory, tag and access do not match locally
	StatusRDMAError                     // the remote memory does not allow this access
	StatusTransportError                // the link failed or the remote side broke the rules
	StatusNoDescriptor                  // the remote side had no receive posted
	StatusFileError                     // the file cannot be read; Descriptor.FileErr says why
)

// A Segment is one piece of local memory.
type Segment struct {
	Data   []byte
	Handle Handle // of the registration that covers Data; 0 where Caps allow
}

// A Remote names memory of the remote side, for RDMA.
type Remote struct {
	Addr   uint64 // address in the remote side's address space
	Handle Handle // as the remote side's Register returned it
}

// InlineMax bounds Caps.InlineBytesMax for every provider, in bytes.
const InlineMax = 56

// Limits of the data sent with connect requests, in bytes.
const (
	PrivateDataMax  = 256
	RejectReasonMax = 128
)

// A Descriptor is one unit of work: a control part, an address part for RDMA and data segments, as in the VI Architecture. Its
// owner fills the first part, the device the second.
type Descriptor struct {
	Op        Op
	Flags     Flags
	Immediate uint32
	Remote    Remote
	Segments  []Segment
	// File replaces Segments as the source of an RDMA write; File.File is nil if it is not used.
	File FileRange

	// Status, Length (payload bytes moved) and, for a loan, Data and Shared are valid once the descriptor has come back. Data
	// aliases Inline or a device buffer. Shared: the remote side may still be able to write to it.
	Status Status
	Shared bool
	Length int
	Data   []byte
	Inline [InlineMax]byte
	// FileErr is set with StatusFileError.
	FileErr error

	// Cookie belongs to the owner; the device does not touch it.
	Cookie any
	// Next links descriptors in any list of their present owner.
	Next *Descriptor
}

// EventKind says what happened.
type EventKind uint8

const (
	// EventRecv and EventSend return a descriptor of the receive queue, or of the send queue (sends and RDMA).
	EventRecv EventKind = iota + 1
	EventSend
	// EventConnectRequest: Conn names a remote side that requests a connection.
	EventConnectRequest
	// EventConnected: the port may send. Conn.Remote is the other side.
	EventConnected
	// EventConnectFailed: Connect ended without a connection; see Conn.Err.
	EventConnectFailed
	// EventDisconnected: the last event of a connection. Conn.Err is nil if this side asked for it, otherwise the reason.
	EventDisconnected
	// EventError is asynchronous and belongs to the device (Cookie nil) or a port; Conn.Err has the error. An existing
	// connection stays.
	EventError
)

// An Event is one thing that happened.
type Event struct {
	Kind   EventKind
	Cookie any         // of the port; nil where there is none
	Desc   *Descriptor // EventRecv, EventSend
	Conn   *ConnEvent  // the others
}

// A ConnEvent is the rarely used part of an Event.
type ConnEvent struct {
	Request RequestID
	Remote  string // the other side's LocalAddr, if known
	Private []byte // data sent with the connect request
	Err     error
	// User, of a connect request, is the user that ran the requester when it connected; nil if the provider does not know.
	User *User
	// OtherUser: User is neither this process's user nor root. Remote begins with OtherUserMark and the uid, so it is never the
	// name of a third user's device; it cannot be connected to.
	OtherUser bool
}

// An RDMAPort is a port whose device has RDMA in its Caps, but may find out after connecting that the machine forbids RDMA with
// this remote side.
type RDMAPort interface {
	// RDMAUsable reports whether both sides of the connection may use RDMA on each other. It is decided when EventConnected is
	// reported. If it is false, RDMA descriptors end with StatusRDMAError.
	RDMAUsable() bool
}

// RDMAUsable reports whether RDMA works over a connected port. For a port that is not an RDMAPort, the device's Caps apply.
func RDMAUsable(p Port) bool {
	r, ok := p.(RDMAPort)
	return !ok || r.RDMAUsable()
}
