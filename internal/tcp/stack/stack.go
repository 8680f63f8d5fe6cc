// Package stack is the seam between the TCP method and the transport of its byte streams: the kernel's sockets (stack/kernel),
// the same inside TLS (stack/secure), and a simulated network in virtual time (stack/sim).
//
// Everything here is non-blocking. An operation that cannot continue returns ErrAgain, and an Event tells when to try again.
// Events are edges, not levels: after an event, the owner continues until ErrAgain, or remembers that it did not. A spurious
// event does no harm.
//
// One goroutine at a time calls a Stack and its streams and listeners (the method is called with the engine lock held). The
// exceptions are Sleep and Wake.
//
// The meaning of the bytes is in internal/tcp/wire, connections, matching and flow control in methods/tcp.
package stack

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi/files"
)

// ErrAgain: nothing can be done now; an Event follows when that changes.
var ErrAgain = errors.New("not now")

// ErrInUse: another process listens at the address.
var ErrInUse = errors.New("address in use")

// ErrRefused: no process listens at the dialled address.
var ErrRefused = errors.New("connection refused")

// ErrExhausted: the process or the machine has no room for another connection now. Listener.Accept may succeed later, without a
// further event.
var ErrExhausted = errors.New("out of descriptors or memory")

// ErrIdentity: the other side did not prove its identity, or did not accept ours. Only stacks that authenticate return it.
var ErrIdentity = errors.New("the other side does not have the required identity")

// A Token names a stream or a listener in events. The owner chooses it; the stack only returns it.
type Token uint64

// Ready says which calls may succeed now.
type Ready uint8

const (
	// Readable: Recv or Accept has a result, or an error.
	Readable Ready = 1 << iota
	// Writable: Send takes bytes again. The first Writable of a stream means that Connected has an answer.
	Writable
	// Hangup, beside Readable: the other side finished or the stream broke. What arrived before can still be received. It is a
	// hint for an owner that does not receive now; Recv returns the reason.
	Hangup
)

// An Event says that something can be done with a stream or a listener.
type Event struct {
	Token Token
	Ready Ready
}

// A Stack makes streams.
type Stack interface {
	// Name tells people what moves the bytes ("kernel sockets").
	Name() string

	// Listen listens at an address; port 0 means a free one. An address that is in use gives ErrInUse.
	Listen(at netip.AddrPort, t Token) (Listener, error)

	// Dial begins to connect. An error means that it could not begin; otherwise the stream's Connected returns the result.
	Dial(to netip.AddrPort, t Token) (Stream, error)

	// Poll stores the events since the last call in events, as far as there is room, and returns their number. The others
	// follow in later calls. Its cost does not grow with idle streams.
	Poll(events []Event) int

	// Close closes all open streams and listeners.
	Close() error
}

// A Reloader is a Stack with keys or certificates in files.
type Reloader interface {
	// KeyFiles are their names.
	KeyFiles() []string
	// Reload reads them again, and may run beside the other methods. use puts them into effect, for streams that are made from
	// now on; it is called as the other methods are. After an error nothing has changed.
	Reload() (use func(), err error)
}

// A Sleeper is a Stack whose owner can block until an event. Its methods are as in bmi.Sleeper.
type Sleeper interface {
	Arm() bool
	Disarm()
	Sleep(timeout time.Duration)
	Wake()
}

// ErrFile: a file cannot be read. Its stream is not affected.
var ErrFile = errors.New("the file cannot be read")

// A FileSender is a Stack whose streams can send from files.
type FileSender interface {
	// SendFile is Send of head, which may be empty, followed by up to part.Len > 0 bytes of a regular file from part.Off on. n
	// is the total number of bytes taken. If it took head and nothing else without an error, the file ends at part.Off or
	// before. Without part.Check the bytes of the file need not be copied: bytes that are written to the file before the other
	// side has the old ones may arrive in their place. ErrFile means that the file cannot be read; n bytes of head were then
	// taken.
	SendFile(to Stream, head [][]byte, part FileRange) (n int, err error)
}

// A FileRange is a part of a regular file.
type FileRange = files.Range

// ReadFile reads the beginning of a part, at most len(b) bytes, and checks them. 0 bytes: the file ends before. The error is
// ErrFile.
func ReadFile(part FileRange, b []byte) (n int, err error) {
	if n, err = part.Read(b[:min(part.Len, len(b))], 0); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrFile, err)
	}
	return n, nil
}

// A Patient is a Stream with a low-water mark.
type Patient interface {
	// LowWater sets the mark below which arrivals need no Event (SO_RCVLOWAT). Readable comes at the latest when n ≥ 1 bytes
	// are there, or as many as the stream has room for, or when the stream ends or fails. If that is already so, Readable comes
	// at once. The initial mark is 1. Recv is not affected.
	LowWater(n int)
}

// A Limited is a Stack with a limited number of streams.
type Limited interface {
	// Room is how many streams the stack may have and still leave enough for the rest of the process.
	Room() int
}

// A Named is a Stream whose other side has an authenticated name.
type Named interface {
	// PeerName is the name, once Connected is nil; "" if the other side has proved none.
	PeerName() string
}

// A Listener accepts connections.
type Listener interface {
	// Accept takes a connection and gives it the token t. It returns ErrAgain if no connection waits, ErrExhausted if one does
	// but there is no room.
	Accept(t Token) (Stream, error)
	// Addr is the address on which it listens, with the real port.
	Addr() netip.AddrPort
	Close() error
}

// A Stream is a connection: a reliable sequence of bytes in each direction.
type Stream interface {
	// Connected is nil once bytes can flow, ErrAgain while that is undecided, and otherwise the reason of the failure
	// (ErrRefused, ErrIdentity, others).
	Connected() error

	// Recv fills bufs in order with the bytes that have arrived and returns their number. ErrAgain: nothing more is there now;
	// n may be more than 0, and an Event follows. io.EOF: the other side finished. Any other error: the stream is broken. bufs
	// must have room for at least one byte, and at most PiecesMax pieces are used.
	Recv(bufs [][]byte) (n int, err error)

	// Send takes bytes from bufs in order and returns how many it took. ErrAgain: it takes no more now; n may be more than 0,
	// and an Event follows. Any other error: the stream is broken. The bytes taken are copied. At most PiecesMax pieces are
	// used. Send may take fewer bytes than given without an error.
	Send(bufs [][]byte) (n int, err error)

	// Finish ends the sending direction. Recv continues.
	Finish() error

	// Delivered reports whether the other side's stack has all bytes sent.
	Delivered() bool

	// Remote is the address of the other side.
	Remote() netip.AddrPort

	// Close ends the stream in both directions and forgets it: no event carries its token afterwards. Bytes sent and not
	// delivered may be lost.
	Close()
}

// PiecesMax is the largest number of pieces that one Recv or Send uses; the rest is left for the next call.
const PiecesMax = 64
