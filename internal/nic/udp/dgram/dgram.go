// Package dgram is the seam between the UDP NIC and the transport of its datagrams:
// the kernel's sockets (dgram/kernel), and a simulated network in virtual time
// (dgram/sim). dgram/dgramtest tests what every device must do.
//
// Everything here is non-blocking, and nothing is promised about a sent datagram: it
// may be lost, arrive twice, late, or out of order. Received datagrams may come from
// any host. The owner must detect bytes damaged in transit; a device may have
// checked, or not.
//
// One goroutine at a time calls a Device and its sockets (its owner), except for
// Sleep and Wake.
//
// The meaning of the bytes is in udp/wire, authentication in udp/secure, and
// recovery from losses in udp/reliable.
package dgram

import (
	"errors"
	"net/netip"
	"time"
)

// ErrAgain: nothing more can be sent now. Sleep ends when sending is possible again.
var ErrAgain = errors.New("not now")

// ErrInUse: another socket has the address.
var ErrInUse = errors.New("address in use")

// ErrNotHere: the address does not belong to this machine, or its family is not
// supported.
var ErrNotHere = errors.New("not an address of this machine")

// ErrExhausted: the process or the machine has no room for another socket now.
var ErrExhausted = errors.New("out of descriptors, memory or ports")

// ErrClosed: the owner closed the socket or its device.
var ErrClosed = errors.New("closed")

// Limits of a datagram's payload, in bytes.
const (
	// PayloadMin fits every path: PathMTU never returns less.
	PayloadMin = 1200
	// PayloadMax is the largest payload of an IPv4 packet; PathMTU never returns
	// more.
	PayloadMax = 65535 - 20 - 8
	// RoomMax is a size of Arrival.Buf that is enough for any arrival, even of
	// several datagrams. With less, something may be cut off.
	RoomMax = 65535
)

// PiecesMax is the largest number of pieces of one Packet. A packet with more pieces
// is lost, as is one without any bytes.
const PiecesMax = 16

// A Device makes sockets.
type Device interface {
	// Name tells people what moves the datagrams ("kernel sockets").
	Name() string

	// Open opens a socket at a local address; port 0 means a free one. The
	// unspecified address 0.0.0.0 means all addresses of IPv4; [::] means all of
	// IPv6 and IPv4.
	//
	// The errors are ErrInUse, ErrNotHere, ErrExhausted, ErrClosed, all wrapped, and
	// others that are permanent.
	Open(at netip.AddrPort) (Socket, error)

	// Close closes the open sockets, and ends a Sleep. A second Close does nothing.
	Close() error
}

// A Socket sends and receives datagrams at one address.
type Socket interface {
	// Addr is the address of the socket, with the real port. It is unspecified if
	// the address given to Open was.
	Addr() netip.AddrPort

	// Send takes packets from the front of batch, in order, and returns how many it
	// took. It uses neither the packets nor their bytes once it has returned.
	//
	// n < len(batch) comes with an error, n == len(batch) without one. The error is
	// ErrAgain if the socket is full, or ErrClosed. An error of one packet affects
	// only that packet: it is taken, dropped and counted (Stats.TooBig,
	// Stats.Unsent), and the next ones are sent. Nothing that arrives, for instance
	// an ICMP message, breaks a socket.
	//
	// Send sets TooBig of every packet that it takes, to true or false.
	Send(batch []Packet) (n int, err error)

	// Recv fills batch from its front with arrivals and returns how many of its
	// entries it filled. 0 means that nothing is there; fewer than len(batch) does
	// not mean that nothing more is. Entries beyond the first n may have been
	// written to.
	//
	// Datagrams that do not fit into the given room are dropped and counted
	// (Stats.Truncated), and so are datagrams without bytes (Stats.Empty): every
	// datagram that Recv returns is whole, and has at least one byte. A closed
	// socket returns none.
	Recv(batch []Arrival) (n int)

	// PathMTU is the largest payload, in bytes, that is known to fit the path to an
	// address without fragmentation: the link's limit until something better is
	// known. It is between PayloadMin and PayloadMax. A larger packet is not always
	// reported as TooBig; it may be lost on the way instead. The result changes with
	// the path, and is at most PathMTUAge old. Call it again when packets are lost,
	// and after a TooBig.
	PathMTU(to netip.AddrPort) int

	// Stats returns the counts since Open. It keeps its last values after Close.
	Stats() Stats

	// Close frees the address. Packets taken may still be sent; arrivals that were
	// not received are lost. A second Close does nothing.
	Close() error
}

// A Homed socket can tell to which address of its machine a datagram was sent. A
// socket that listens on all addresses needs this: its answer comes from the
// expected address only if it sets that address (Packet.From).
type Homed interface {
	Socket

	// TellTo requests Arrival.To from now on, which makes receiving slightly more
	// expensive. A socket at one address does not set it.
	TellTo() error
}

// PathMTUAge is how old a result of PathMTU can be.
const PathMTUAge = time.Second

// A Packet is a datagram to be sent. Consecutive packets of a batch with one
// destination and the same size (the last one may be shorter) are cheaper than
// others, because a device may send them as one.
type Packet struct {
	// To is the destination. An IPv4 address may be given as ::ffff:a.b.c.d. A
	// destination that the socket cannot reach counts as a loss (Stats.Unsent).
	To netip.AddrPort

	// From is the address of this machine from which the packet is sent. An invalid
	// address, or one that is no longer this machine's, means the socket's own or
	// the one chosen by the route. Only a Homed socket uses it.
	From netip.Addr

	// Pieces are the payload, in order: at most PiecesMax. Empty pieces are allowed,
	// but together they must have at least one byte.
	Pieces [][]byte

	// TooBig is set by Send: the packet was dropped because it is larger than the
	// link, or the known path, allows. PathMTU returns the limit.
	TooBig bool
}

// An Arrival is room for datagrams, and then datagrams: one, or several consecutive
// ones of one sender and equal size.
type Arrival struct {
	// Buf is room provided by the caller: not empty, and best RoomMax. The device
	// writes to it only within Recv, and only the first Len bytes are meaningful
	// afterwards.
	Buf []byte

	// From is the sender, as the packet claims. IPv4 addresses are never in the form
	// ::ffff:a.b.c.d.
	From netip.AddrPort

	// To is the address of this machine to which it was sent. It is not valid if
	// that is a multicast address, not known, or not requested (Homed).
	To netip.Addr

	// Len is the number of bytes in Buf, 0 < Len ≤ len(Buf). Each Size bytes of them
	// are one datagram, 0 < Size ≤ Len; the last one may be shorter.
	Len, Size int
}

// Stats are counts since Open. "Packets" are datagrams, never groups of them.
type Stats struct {
	Sent        uint64 `about:"packets sent"`
	SentBytes   uint64 `about:"payload of the packets sent, in bytes"`
	SendCalls   uint64 `about:"calls of the layer below to send"`
	SentGrouped uint64 `about:"packets sent several in one call (GSO)"`
	TooBig      uint64 `about:"packets dropped because they exceeded the path's limit"`
	Unsent      uint64 `about:"packets dropped for other reasons: no route, forbidden, empty, too many pieces, out of memory"`
	Full        uint64 `about:"times there was no room to send"`

	Received        uint64 `about:"packets received"`
	ReceivedBytes   uint64 `about:"payload of the packets received, in bytes"`
	RecvCalls       uint64 `about:"calls of the layer below to receive, empty ones included"`
	ReceivedGrouped uint64 `about:"packets received several in one call (GRO)"`
	Overflowed      uint64 `about:"packets dropped because the buffer was full, counted at the next arrival"`
	// Of several packets in one call, Truncated counts those known to be lost.
	Truncated uint64 `about:"packets dropped because they did not fit into their room"`
	Empty     uint64 `about:"packets without a byte"`
	Odd       uint64 `about:"arrivals dropped because the layer below described them inconsistently"`
}

// A Sleeper is a Device whose owner can block until one of its sockets is ready. A
// device in simulated time is not a Sleeper.
//
// The protocol is that of nic.Sleeper: Arm (owner); if true, Sleep (no lock); Disarm
// (owner). An arrival between Arm and Sleep makes Sleep return at once.
type Sleeper interface {
	// Arm makes Sleep end when a datagram arrives, or when a socket that returned
	// ErrAgain has room. It reports false if that is already so: then receive or
	// send instead of sleeping. It reports false on a closed device.
	Arm() bool
	// Disarm undoes Arm: the owner polls again and needs no wake-ups.
	Disarm()
	// Sleep returns on an arrival, room, a Wake, the closing of the device, or when
	// timeout (< 0: never) passes. It may return for no reason.
	Sleep(timeout time.Duration)
	// Wake ends the current Sleep, or the next one if none is under way. Any
	// goroutine may call it.
	Wake()
}
