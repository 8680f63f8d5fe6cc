// Package stack is the seam between the TCP method and what carries its byte
// streams: the kernel's sockets (stack/kernel), the same inside TLS
// (stack/secure), and a simulated network in virtual time (stack/sim).
//
// Everything here is non-blocking. An operation that cannot go on says ErrAgain,
// and an Event tells when it is worth another try. Events are edges, not
// levels: after one, the owner goes on until ErrAgain, or remembers that it did
// not. A spurious event does no harm.
//
// One goroutine at a time calls a Stack and its streams and listeners (the
// method is called with the engine lock held), but for Sleep and Wake.
//
// What does not live here: what the bytes mean (methods/tcp/wire), and
// connections, matching and flow control (methods/tcp).
package stack

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"time"
)

// ErrAgain: nothing can be done now; an Event follows when that changes.
var ErrAgain = errors.New("not now")

// ErrInUse: somebody else listens at the address.
var ErrInUse = errors.New("address in use")

// ErrRefused: nobody listens at the address that was dialled.
var ErrRefused = errors.New("connection refused")

// ErrExhausted: the process or the machine has no room for another connection
// now. Listener.Accept may succeed later, without a further event.
var ErrExhausted = errors.New("out of descriptors or memory")

// ErrIdentity: the other side did not prove who it is, or did not accept our
// proof. Only a stack that authenticates has it.
var ErrIdentity = errors.New("the other side is not who it must be")

// A Token names a stream or a listener in events. The owner chooses it; to the
// stack it is a number that comes back.
type Token uint64

// Ready says what is worth trying.
type Ready uint8

const (
	// Readable: Recv or Accept has something, or a reason why it ended.
	Readable Ready = 1 << iota
	// Writable: Send takes bytes again. The first one of a stream says that
	// Connected has an answer.
	Writable
	// Hangup, beside Readable: the other side finished or the stream broke.
	// What arrived before can still be received. It is a hint for an owner
	// who does not receive now; Recv tells what happened.
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

	// Listen takes connections at an address; port 0 means one that is free.
	// An address that is in use gives ErrInUse.
	Listen(at netip.AddrPort, t Token) (Listener, error)

	// Dial begins to connect. An error says that it cannot even begin;
	// otherwise the stream's Connected tells how it went.
	Dial(to netip.AddrPort, t Token) (Stream, error)

	// Poll stores what became possible since the last call in events, as far
	// as there is room, and returns how many; the others follow in later
	// calls. Its cost does not grow with streams on which nothing happens.
	Poll(events []Event) int

	// Close closes what is still open.
	Close() error
}

// A Sleeper is a Stack whose owner can block until an event. Its methods mean
// what those of bmi.Sleeper mean.
type Sleeper interface {
	Arm() bool
	Disarm()
	Sleep(timeout time.Duration)
	Wake()
}

// ErrFile: a file cannot be read. The stream it was for is as before.
var ErrFile = errors.New("the file cannot be read")

// A FileSender is a Stack whose streams take bytes from files.
type FileSender interface {
	// SendFile is Send of head, which may be empty, and of up to part.Most > 0 bytes of a
	// regular file from part.Off on. It returns how many bytes it took in all. When it took head
	// and nothing else without an error, the file ends at part.Off or before. If nobody checks the bytes of the
	// file they need not be copied: what is written to it until the other side has them may
	// arrive in their place. ErrFile says that it cannot be read; n bytes of head were
	// taken then.
	SendFile(to Stream, head [][]byte, part FilePart) (n int, err error)
}

// FilePart is a part of a regular file.
type FilePart struct {
	File *os.File
	Off  int64
	Most int
	// Check, unless it is nil, is given the bytes that were read before the stream takes them, and their place in the file. With its error
	// the file cannot be read.
	Check func(b []byte, off int64) error
}

// Read reads bytes of the part, as many as fit in b at most, and has them checked. 0 bytes: the file ends before. ErrFile.
func (p FilePart) Read(b []byte) (n int, err error) {
	n, err = p.File.ReadAt(b[:min(p.Most, len(b))], p.Off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil && n > 0 && p.Check != nil {
		err = p.Check(b[:n], p.Off)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrFile, err)
	}
	return n, nil
}

// A Patient is a Stream whose owner need not be told of every byte.
type Patient interface {
	// LowWater sets the mark below which arrivals need no Event (SO_RCVLOWAT): Readable
	// comes when n ≥ 1 bytes are there at the latest, or as many as the stream has room for,
	// or fewer and its end or an error; at once if that is so already. The mark is 1 at first.
	// Recv takes what there is, as ever.
	LowWater(n int)
}

// A Limited is a Stack that cannot have streams as it likes.
type Limited interface {
	// Room is how many streams it may have, and enough is left for everything else in the process.
	Room() int
}

// A Named is a Stream whose other side has authenticated itself by name.
type Named interface {
	// PeerName is the name, once Connected is nil; "" if the other side has shown none, or proved nothing about it.
	PeerName() string
}

// A Listener takes connections.
type Listener interface {
	// Accept takes a connection, which is called t from now on; ErrAgain if
	// nobody waits, ErrExhausted if somebody does but there is no room.
	Accept(t Token) (Stream, error)
	// Addr is where it listens, with the real port.
	Addr() netip.AddrPort
	Close() error
}

// A Stream is a connection: a reliable sequence of bytes in each direction.
type Stream interface {
	// Connected is nil once bytes can flow, ErrAgain while that is open, and
	// otherwise the reason why it failed (ErrRefused, ErrIdentity, others).
	Connected() error

	// Recv fills bufs in order with what has arrived and returns how many
	// bytes that was. With ErrAgain, nothing further is there now: n may be
	// more than 0, and an Event follows. With io.EOF, the other side
	// finished; with any other error the stream is broken. There is at least
	// one byte of room in bufs, and at most PiecesMax pieces are used.
	Recv(bufs [][]byte) (n int, err error)

	// Send takes bytes from bufs in order and returns how many it took. With
	// ErrAgain it takes no more now: n may be more than 0, and an Event
	// follows. With any other error the stream is broken. The bytes taken are
	// copied. At most PiecesMax pieces are used; fewer bytes than there are
	// may be taken without an error.
	Send(bufs [][]byte) (n int, err error)

	// Finish says that nothing more will be sent. Recv goes on.
	Finish() error

	// Delivered tells whether the other side's stack has everything that was
	// sent.
	Delivered() bool

	// Remote is the address of the other side.
	Remote() netip.AddrPort

	// Close ends the stream in both directions and forgets it: no event
	// carries its token afterwards. What was sent and not delivered may be
	// lost.
	Close()
}

// PiecesMax is the largest number of pieces that one Recv or Send uses; what lies
// beyond is left for the next.
const PiecesMax = 64
