// Package dgram is the seam between the UDP NIC and what carries its datagrams:
// the kernel's sockets (dgram/kernel), and a simulated network in virtual time
// (dgram/sim). What every device must do is tested by dgram/dgramtest.
//
// Everything here is non-blocking, and nothing is promised about a datagram that
// was taken: it may be lost, arrive twice, late, or after one that was sent later.
// What arrives may come from anybody. Whether bytes are damaged on the way is
// for the owner to find out; a device may have checked, or not.
//
// One goroutine at a time calls a Device and its sockets (its owner), but for
// Sleep and Wake.
//
// What does not live here: what the bytes mean (udp/wire), who may send them
// (udp/secure), and what is done about losses (udp/reliable).
package dgram

import (
	"errors"
	"net/netip"
	"time"
)

// ErrAgain: nothing more can be sent now; that it can again ends a Sleep.
var ErrAgain = errors.New("not now")

// ErrInUse: somebody else has the address.
var ErrInUse = errors.New("address in use")

// ErrNotHere: the address is none of this machine, or there is no such family.
var ErrNotHere = errors.New("not an address of this machine")

// ErrExhausted: the process or the machine has no room for another socket now.
var ErrExhausted = errors.New("out of descriptors, memory or ports")

// ErrClosed: the owner closed the socket or its device.
var ErrClosed = errors.New("closed")

// Limits of a datagram's payload, in bytes.
const (
	// PayloadMin goes everywhere: PathMTU never says less.
	PayloadMin = 1200
	// PayloadMax is what an IPv4 packet has room for; PathMTU never says more.
	PayloadMax = 65535 - 20 - 8
	// RoomMax is room in Arrival.Buf for whatever arrives, however many
	// datagrams it is. In less, something may be cut off.
	RoomMax = 65535
)

// PiecesMax is the largest number of pieces of one Packet. A packet of more is
// lost, as one that has no bytes at all.
const PiecesMax = 16

// A Device makes sockets.
type Device interface {
	// Name tells people what moves the datagrams ("kernel sockets").
	Name() string

	// Open opens a socket at a local address; port 0 means one that is free.
	// The unspecified address (0.0.0.0) means all of the family; [::] means all
	// of IPv6, and of IPv4 as well.
	//
	// The errors are ErrInUse, ErrNotHere, ErrExhausted, ErrClosed, all
	// wrapped, and others that will not go away.
	Open(at netip.AddrPort) (Socket, error)

	// Close closes the sockets that are still open, and ends a Sleep. A
	// second Close does nothing.
	Close() error
}

// A Socket sends and receives datagrams at one address.
type Socket interface {
	// Addr is where the socket is, with the real port. An address that was
	// unspecified in Open is so here.
	Addr() netip.AddrPort

	// Send takes packets from the front of batch, in order, and returns how
	// many it took. It uses neither them nor their bytes once it has returned.
	//
	// n < len(batch) comes with an error, and n == len(batch) without:
	// ErrAgain when it is full, ErrClosed when it is closed, and no other. What is
	// wrong with one packet is the end of that packet: it is taken, dropped and
	// counted (Stats.TooBig, Stats.Unsent), and those after it go on. Nothing that
	// arrives, an ICMP message for instance, breaks a socket.
	//
	// Send sets TooBig of every packet that it takes, to true or false.
	Send(batch []Packet) (n int, err error)

	// Recv fills batch from its front with what has arrived and returns how
	// many of its entries it filled. 0 means that nothing is there; fewer than
	// len(batch) does not mean that nothing more is. Entries beyond
	// the first n may have been written to.
	//
	// What does not fit into the room it found is dropped and counted
	// (Stats.Truncated), and so are datagrams that have no bytes
	// (Stats.Empty): every datagram that Recv hands out is whole, and
	// has at least one byte. A closed socket has none.
	Recv(batch []Arrival) (n int)

	// PathMTU is the largest payload, in bytes, that is known to fit through
	// the path to an address without being fragmented: the link's limit
	// until something better is known. From PayloadMin to PayloadMax. A larger
	// packet is not necessarily TooBig; it may be lost on the way instead. The
	// answer changes when the path does, and is at most PathMTUAge old:
	// worth asking again when packets are lost, and after a TooBig.
	PathMTU(to netip.AddrPort) int

	// Stats is what happened since Open. It keeps its last values after Close.
	Stats() Stats

	// Close frees the address. What was taken may still be sent; what
	// arrived and was not received is lost. A second Close does nothing.
	Close() error
}

// A Homed socket can tell to which address of its machine a datagram was sent. That
// is of use to a socket at all addresses: an answer comes from where it is expected
// only if it names that address (Packet.From).
type Homed interface {
	Socket

	// TellTo asks for Arrival.To from now on, which makes receiving a little
	// dearer. A socket at one address knows no better, and tells nothing.
	TellTo() error
}

// PathMTUAge is how old an answer of PathMTU is at most.
const PathMTUAge = time.Second

// A Packet is a datagram to be sent. Consecutive packets of a batch that go to one
// destination and have the same size, but for the last, which may be
// shorter, are cheaper than others, because a device may send them as one.
type Packet struct {
	// To is the destination. IPv4 may come in IPv6's clothes (::ffff:a.b.c.d).
	// A destination that the socket cannot reach counts as a loss (Stats.Unsent).
	To netip.AddrPort

	// From is the address of this machine that the packet leaves from. None, and
	// one that is not (any more) this machine's, means the socket's, or what the
	// route says. Only a Homed socket looks at it.
	From netip.Addr

	// Pieces are the payload, in order: at most PiecesMax. Empty ones are
	// allowed, but together they have at least one byte.
	Pieces [][]byte

	// TooBig is an answer: the packet was dropped because it is larger than the
	// link, or what is known of the path, lets through. PathMTU knows more.
	TooBig bool
}

// An Arrival is room for datagrams, then datagrams: one, or several of one
// sender and equal size in a row, as they came.
type Arrival struct {
	// Buf is room, and the caller's: not empty, and better RoomMax. The
	// device writes to it only within Recv, and only the first Len bytes are
	// of use afterwards.
	Buf []byte

	// From is the sender, as the packet claims. IPv4 is never in IPv6's clothes.
	From netip.AddrPort

	// To is the address of this machine that it was sent to. It is not valid if that
	// is a multicast address, not known, or nobody asked for it (Homed).
	To netip.Addr

	// Len is the number of bytes in Buf, 0 < Len ≤ len(Buf). Every Size bytes
	// of them are a datagram, 0 < Size ≤ Len; the last one may be shorter.
	Len, Size int
}

// Stats counts since Open. "Packets" are datagrams, never groups of them.
type Stats struct {
	// Sent and SentBytes: packets that were handed on, and their payload.
	Sent, SentBytes uint64
	// SendCalls is how often the layer below was called for that.
	SendCalls uint64
	// SentGrouped: those of Sent that went several in one (GSO).
	SentGrouped uint64
	// TooBig: packets dropped by Send because they were larger than the path.
	TooBig uint64
	// Unsent: packets dropped by Send for other reasons: no route,
	// forbidden, empty, too many pieces, memory short.
	Unsent uint64
	// Full: how often Send answered ErrAgain.
	Full uint64

	// Received and ReceivedBytes: packets that Recv handed out, and their payload.
	Received, ReceivedBytes uint64
	// RecvCalls is how often the layer below was called for that, in vain
	// or not.
	RecvCalls uint64
	// ReceivedGrouped: those of Received that came several in one (GRO).
	ReceivedGrouped uint64
	// Overflowed: packets dropped before Recv because the buffer was full. It
	// may be known only with the next arrival.
	Overflowed uint64
	// Truncated: packets dropped by Recv that did not fit into their room. Of
	// several in one it counts those that are known to be lost.
	Truncated uint64
	// Empty: packets without a byte.
	Empty uint64
	// Odd: arrivals dropped because what the layer below said of them makes no
	// sense (the sender has no address, sizes that cannot be).
	Odd uint64
}

// A Sleeper is a Device whose owner can block until something can be done with
// any of its sockets. A device in simulated time is none.
//
// The protocol is that of nic.Sleeper: Arm (owner); if true, Sleep (no lock);
// Disarm (owner). An arrival between Arm and Sleep makes Sleep return at once.
type Sleeper interface {
	// Arm asks that from now on an arrival at a socket, or room in one that
	// answered ErrAgain, ends Sleep. It reports false if that is so already: then
	// receive or send, do not sleep. It reports false on a closed device.
	Arm() bool
	// Disarm takes Arm back: the owner polls again and needs no wake-ups.
	Disarm()
	// Sleep returns on an arrival, room, a Wake, the end of the device, or when
	// timeout (< 0: never) passes. It may return for no reason.
	Sleep(timeout time.Duration)
	// Wake ends the current Sleep, or the next one if none is under way. Any
	// goroutine may call it.
	Wake()
}
