package bmi

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"time"
)

// A Method is one network transport of one endpoint: the seam below this package. It has only the verbs that every transport
// must have. Optional abilities are the small interfaces further down, found by assertion.
//
// # Calls
//
// The endpoint serialises every call to a method with one lock per method (the engine lock), so a method needs no lock of its
// own. The exceptions are Sleeper.Sleep and Sleeper.Wake. A method may run goroutines of its own; they only queue what they
// find for Poll and call Host.Wake.
//
// # Ownership
//
// An Op, and the memory of its Bufs, belong to the method from PostSend or PostRecv until the method calls Op.Complete. It
// calls Complete exactly once, from within any of its own calls. If it does so within the post itself, the operation completed
// immediately. After Complete the method keeps no reference to either.
type Method interface {
	// Info describes the method. Capabilities and limits do not change.
	Info() Info

	// Resolve turns an address of this method into an Addr made with Host.NewAddr. The same remote endpoint gives the same Addr
	// until it is dropped. Resolving does not connect; it fails only for errors in the text itself.
	Resolve(address string) (Addr, error)

	// PostSend takes over a send (expected or unexpected, see Op.Kind).
	PostSend(op *Op)

	// PostRecv takes over a receive.
	PostRecv(op *Op)

	// Cancel asks for an operation to end early. It still completes, once: with ErrCancelled, or with its own result if it was
	// faster. When it completes, no remote side touches its memory any more.
	Cancel(op *Op)

	// Poll makes progress without blocking: it completes operations and
	// hands unexpected messages to Host.Arrived. It reports whether anything
	// happened.
	Poll() bool

	// Close drains what it can until ctx ends, completes every operation
	// still posted with ErrClosed and frees everything. It is called once,
	// and never within another call of the method (see Host.Arrived).
	Close(ctx context.Context) error
}

// A Sleeper is a method whose caller can block until something arrives. The caller calls Arm (engine lock held), then Sleep (no
// lock) if Arm reported true, then Disarm (engine lock held), in either case. An arrival, a deadline of the method or a Wake
// between Arm and Sleep makes Sleep return at once. One goroutine at a time is between Arm and Disarm; meanwhile others may post,
// cancel and poll. Close is never called then.
type Sleeper interface {
	// Arm makes later arrivals end Sleep. It reports false if there is already work for the next Poll.
	Arm() bool
	// Disarm undoes Arm: the caller polls again and needs no wake-ups.
	Disarm()
	// Sleep returns on an arrival, a Wake, or when timeout (< 0: never) passes.
	Sleep(timeout time.Duration)
	// Wake ends the current Sleep, or the next one if none is under way.
	Wake()
}

// A Deadliner is a method that wants a Poll at a certain time even if nothing arrives (a retry, a keep-alive).
type Deadliner interface {
	// NextDeadline is in the terms of MethodConfig.Clock.
	NextDeadline() (at time.Duration, ok bool)
}

// An Allocator is a method with memory that it moves more cheaply than any other.
type Allocator interface {
	Alloc(size int) ([]byte, error)
	Free(mem []byte) error
}

// A SharedAllocator is an Allocator that also has memory into which peers move bytes of files (FileSender) more cheaply than
// into any other memory.
type SharedAllocator interface {
	Allocator
	AllocShared(size int) ([]byte, error)
}

// A Dropper forgets a remote endpoint: every operation with it completes with ErrDropped, the connection closes, and its queued
// messages are discarded.
type Dropper interface {
	Drop(peer Peer)
}

// A Checker reports whether a remote endpoint is believed to be alive, without sending anything: nil, or the error that a post
// would most likely end with.
type Checker interface {
	Check(peer Peer) error
}

// A NowSender is a method that can send a small message within a call, without an Op.
type NowSender interface {
	// SendNow sends head and body together as one message, expected or unexpected, and keeps neither. If it returns false, for
	// whatever reason, nothing has happened and the caller must post the message.
	SendNow(to Peer, kind Kind, class Class, tag Tag, head, body []byte) bool
	// NowBytes is the size of the largest message that SendNow can take. It does not change.
	NowBytes() int
}

// A FileSender is a method that reads the bytes of a message from a file itself, with less copying than through a buffer. It is
// used only if its Info says FileSends.
type FileSender interface {
	// PostSendFile takes over an expected send of op.Size > 0 bytes of op.File; op.Bufs is empty. Order, Cancel and Complete
	// are as for PostSend. Context.PostSendFile defines what happens to bytes beyond the end of the file (zeros) and when the
	// file cannot be read (the connection ends).
	PostSendFile(op *Op)
}

// A RemoteAccessor is a method over which an endpoint reads and writes exposed memory of its peers within a call, without their
// help (RDMA). It is used only if its Info says RemoteAccess.
type RemoteAccessor interface {
	// Expose opens memory to a connected peer, and to no other. The method keeps the memory reachable until it is withdrawn. A
	// key is of no use once the connection has ended.
	Expose(to Peer, mem []byte) (Exposure, error)
	// Access writes mem to the peer's memory, from off on, or reads it from there: some bytes, at most AccessBytes. After an
	// error any part of them may have been moved; nothing else has happened to the connection. ErrAgain: other messages are in
	// the way.
	Access(to Peer, key RemoteKey, off uint64, mem []byte, write bool) error
	// AccessBytes does not change.
	AccessBytes() int
}

// An Exposure is memory that Expose has opened.
type Exposure interface {
	// Key is what the peer needs.
	Key() RemoteKey
	// Withdraw closes the memory to new accesses, once. The method keeps it reachable until those under way have ended.
	Withdraw()
}

// A Ranger reports whether a peer lies in a range of addresses, in the method's own wildcard syntax.
type Ranger interface {
	InRange(peer Peer, pattern string) (bool, error)
}

// A Sourcer knows from which network address the packets of inbound peers come. A method must be a Sourcer if it has network
// addresses and inbound peers choose their own names.
type Sourcer interface {
	// Source is the network address of a peer that connected to this endpoint, as the method itself saw it. It is not valid for
	// peers that this endpoint connected to, and for methods without network addresses. Unlike other methods, Source may be
	// called by any goroutine at any time, even after Close, because servers call it for each request.
	Source(peer Peer) netip.AddrPort
}

// An Authenticator knows the names that peers have proved to be theirs.
type Authenticator interface {
	// AuthenticatedName is the name that a connected peer has proved, for example that of its certificate; "" if it has proved
	// none.
	AuthenticatedName(peer Peer) string
}

// A User is a user of this machine, as reported by the kernel.
type User struct {
	UID    uint32
	Groups []uint32 // the first is the primary one
}

// OtherUserMark begins the name part of the address of a peer that connected to this endpoint and is run by a user other than
// the endpoint's own and root. A method must give such a peer no other address.
const OtherUserMark = "~uid"

// A UserTeller knows which users of this machine run its peers.
type UserTeller interface {
	// LocalUser is the user that runs a peer which connected to this endpoint, as of its last connection; nil for other peers.
	// Like Sourcer.Source it may be called by any goroutine at any time.
	LocalUser(peer Peer) *User
}

// A UserOpener is a driver whose methods serve only processes of their own user and root by default. It lets a program admit
// other users without knowing the driver's own option type.
type UserOpener interface {
	Driver
	// WithOtherUsers returns options with all users of this machine allowed to connect. options must be nil or of the driver's
	// own type; otherwise WithOtherUsers fails.
	WithOtherUsers(options any) (any, error)
}

// A Statser is a method that counts.
type Statser interface {
	// Stats appends one entry per known peer to peers. It returns the method's totals and the extended slice.
	Stats(peers []PeerStats) (MethodStats, []PeerStats)
}

// A Peer is the method's own record of a remote endpoint.
type Peer interface {
	// String is the peer's address, in a form that Resolve takes if the
	// peer can be connected to.
	String() string
}

// Host is what an endpoint offers to the methods it opened. Except for Wake, its methods may be called only from within a call
// of the method.
type Host interface {
	// NewAddr makes the address of a peer. A method calls it once per peer
	// and keeps the result.
	NewAddr(p Peer) Addr

	// Arrived hands over an unexpected message. data is valid only during the call. Arrived reports false if the endpoint's
	// limit for queued messages is reached. The method then keeps the message, holds back that sender alone, and offers the
	// message again in a later Poll, before any other unexpected message of that sender.
	//
	// A handler may run within this call, with the engine lock released. The handler may post and cancel, so everything but
	// Poll and Close may be called before Arrived returns. The method must then recheck any state that it read before the call.
	Arrived(from Addr, class Class, tag Tag, data []byte) bool

	// ArrivedShared is Arrived of data that the peer can still write to. The endpoint copies it first, unless it goes to a
	// QuickHandler.
	ArrivedShared(from Addr, class Class, tag Tag, data []byte) bool

	// Wake makes the endpoint poll soon. Any goroutine may call it.
	Wake()
}

// A Driver opens methods of one name. Drivers are registered from init
// functions, so that a binary carries the methods that it imports.
type Driver interface {
	// Name is the scheme of the method's addresses, for instance "via+shm".
	Name() string
	// Open starts a method for one endpoint.
	Open(ctx context.Context, cfg MethodConfig) (Method, error)
}

// A Keyer is a driver of a method whose connections are protected by a key that all sides share. It lets a program supply a key
// without knowing the driver's own option type.
type Keyer interface {
	Driver
	// WithKey returns options with a key of 32 random bytes in them, unless they already have a key. options must be nil or of
	// the driver's own type; otherwise WithKey fails. It also fails for a key that protects nothing. Its errors do not show the
	// key.
	WithKey(options any, key []byte) (any, error)
}

// A ConnectTimer is a driver of a method whose sends wait for a connection. It lets a program set how long, without knowing the
// driver's own option type.
type ConnectTimer interface {
	Driver
	// WithConnectTimeout returns options with the time in them, unless they already have one. options must be nil or of the
	// driver's own type; otherwise WithConnectTimeout fails. A method learns at once that nobody listens at an address, if the
	// other host says so; a long time is for peers that are known to run, and may be slow.
	WithConnectTimeout(options any, timeout time.Duration) (any, error)
}

// MethodConfig configures a method that a Driver opens.
type MethodConfig struct {
	Host Host

	// Listen holds the addresses, with scheme, under which others reach the endpoint through this method. It is empty for an
	// endpoint that only connects.
	Listen []string

	// Clock tells the time since an arbitrary start. Never nil.
	Clock func() time.Duration

	// Log is never nil.
	Log *slog.Logger

	// Options is the driver's own option type, or nil for its defaults.
	Options any
}

// OptionsOf returns MethodConfig.Options as the driver's own type: given may be nil for its zero value, a T, or a pointer to one.
func OptionsOf[T any](given any) (own T, err error) {
	switch o := given.(type) {
	case nil:
	case T:
		own = o
	case *T:
		if o != nil {
			own = *o
		}
	default:
		err = fmt.Errorf("%w: options of type %T, want %T", ErrInvalid, given, own)
	}
	return own, err
}

// Info is a method's capabilities and limits, as data.
type Info struct {
	// Name is the method's scheme.
	Name string
	// Description is one line of text for people.
	Description string
	// Provider names what moves the bytes ("shm", "kernel sockets").
	Provider string

	// MaxExpectedSize and MaxUnexpectedSize are the largest messages, in bytes. EagerSize is the largest message that is sent
	// without asking the receiver first.
	MaxExpectedSize, MaxUnexpectedSize, EagerSize int
	// MaxPieces is the largest number of pieces in a list.
	MaxPieces int

	// Classes: unexpected messages carry a class. Without it, all are of class 0.
	Classes bool
	// RegisteredMemory: Alloc returns memory that moves more cheaply.
	RegisteredMemory bool
	// RemoteRead, RemoteWrite: large messages move with one copy, made by the receiver or by the sender.
	RemoteRead, RemoteWrite bool
	// RemoteAccess: peers can be given access to memory (Endpoint.Expose).
	RemoteAccess bool
	// FileSends: PostSendFile moves bytes from a file without a buffer in between.
	FileSends bool
	// Addresses are those on which the method listens.
	Addresses []string
	// Details are name and value pairs for people.
	Details [][2]string
}
