package core

import (
	"errors"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A link is a connection to a process, named by its bmi address. A process may have two: the one
// that it made and the one that was made to it.
type link struct {
	e    *Engine
	addr bmi.Addr
	proc *Proc // nil until the other side sent HELLO

	eagerMax  int  // the largest message that is sent in an EAGER
	pieceMax  int  // the largest expected message
	callMax   int  // the largest body of a CALL or RETURN
	greeted   bool // we sent HELLO
	known     bool // the other side sent HELLO, so it knows the connection
	bye       bool // the other side sent BYE
	gone      bool
	sendsNow  bool // bmi has sent a message within the call
	congested bool // bmi could not send the last one within the call

	answering int                         // answers in bmi, not sent yet
	answers   queue.FIFO[packet, *packet] // answers that wait until those are sent
	waiting   int                         // the length of answers
	returns   int                         // how many of these are RETURNs

	unanswered int // calls that arrived, do not wait, and are not answered yet

	eagerRoom int // the largest message that fits in an EAGER
}

// tagLife is the tag of a receive that no message matches. It ends when the connection ends.
const tagLife = ^bmi.Tag(0)

// lifeline is the user value of that receive.
type lifeline struct{ l *link }

// linkTo returns the link of an address, and makes it if there is none.
func (e *Engine) linkTo(addr bmi.Addr) (*link, error) {
	if l := e.links[addr]; l != nil {
		return l, nil
	}
	unexpected, err := e.ep.MaxUnexpectedSize(addr)
	if err != nil {
		return nil, err
	}
	expected, err := e.ep.MaxExpectedSize(addr)
	if err != nil {
		return nil, err
	}
	if unexpected < wire.HelloBytes+cardBytesMax || expected < pieceBytesMin {
		return nil, errclass.New(errclass.Other, "the method of %s carries unexpected messages of %d bytes and others of %d, too small for MPI", addr, unexpected, expected)
	}
	l := &link{
		e: e, addr: addr,
		eagerMax:  min(e.cfg.Limits.EagerBytesMax, unexpected-wire.EagerBytes),
		eagerRoom: unexpected - wire.EagerBytes,
		pieceMax:  min(expected, 1<<31-1),
		callMax:   min(callBytesMax, unexpected-wire.CallBytes),
	}
	e.links[addr] = l
	return l, nil
}

// connect makes the link to a process and sends HELLO.
func (p *Proc) connect(addr bmi.Addr) (*link, error) {
	e := p.e
	l, err := e.linkTo(addr)
	if err != nil {
		return nil, errclass.Wrap(errclass.Other, err, "connecting to process %s", p)
	}
	if l.proc != nil && l.proc != p {
		return nil, p.displaced(l)
	}
	l.proc, p.route = p, l
	p.meet()
	l.watch() // first, or the connection might end between the two without notice
	if p.err == nil {
		l.sendHello()
	}
	return l, p.err
}

// displaced returns why a process cannot be reached whose address belongs to another process. If
// the other process has sent HELLO from there, the first one is gone.
func (p *Proc) displaced(l *link) error {
	err := errclass.New(errclass.Other, "process %s has the address of another one, %s", p, l.proc.card.ID)
	if l.known {
		p.fail(err)
		return p.err
	}
	return err
}

// sendHello sends HELLO: the identity of this process, and how much may be sent to it.
func (l *link) sendHello() {
	if l.greeted {
		return
	}
	l.greeted = true
	e := l.e
	h := wire.Hello{Version: wire.Version, Window: uint32(e.cfg.Limits.WindowBytes), ID: e.cfg.Self.ID, To: l.proc.card.ID, Card: e.cfg.Self.Encode()}
	l.post(wire.KindHello, h.Append(e.packetBuffer()))
}

// watch posts the receive that ends with the connection.
func (l *link) watch() {
	if l.gone {
		return
	}
	posted, err := l.e.ctx.PostRecv(l.addr, tagLife, nil, &lifeline{l})
	switch {
	case isRoom(err):
		l.e.unwatched = append(l.e.unwatched, l)
	case err != nil:
		l.broke(err)
	case posted.Done:
		l.proc.broke("a message with a tag that is never used")
	}
}

// broke handles the end of the connection.
func (l *link) broke(cause error) {
	if l.gone || errors.Is(cause, bmi.ErrClosed) && l.e.closed {
		return
	}
	p := l.proc
	if p == nil || p.left {
		l.drop()
		return
	}
	switch {
	case p.leaving():
		l.drop()
		p.leave()
	case !l.known && (p.doubted || errors.Is(cause, bmi.ErrPeerFailed)):
		l.drop()
		p.doubt(cause)
	default:
		p.fail(cause)
	}
}

// drop removes the connection. bmi ends all operations on it.
func (l *link) drop() {
	if l.gone {
		return
	}
	l.gone = true
	if l.e.recent == l {
		l.e.recent = nil
	}
	delete(l.e.links, l.addr)
	if l.known {
		l.e.tell(Event{Kind: Disconnected, Proc: l.proc})
	}
	for k := l.answers.Pop(); k != nil; k = l.answers.Pop() {
		l.e.freePacket(k)
	}
	_ = l.e.ep.DropAddr(l.addr) // not every method can; then the address stays until the end
}

// hello learns from a HELLO which process is at the other end of a connection.
func (e *Engine) hello(from bmi.Addr, data []byte) {
	h, err := wire.ParseHello(data)
	if err != nil {
		e.refuse(from, err)
		return
	}
	if h.To != e.cfg.Self.ID {
		e.refuse(from, errclass.New(errclass.Other, "it wants to reach process %s, this is %s: its address was used again", ProcID(h.To), e.cfg.Self.ID))
		return
	}
	card, err := ParseCard(h.Card)
	if err == nil && card.ID != h.ID {
		err = errclass.New(errclass.Other, "its card is that of another process")
	}
	if err != nil {
		e.refuse(from, err)
		return
	}
	p, err := e.procLocked(card)
	if err == nil {
		err = p.gone()
	}
	if err == nil && p == e.self {
		err = errclass.New(errclass.Other, "it has this process's own id")
	}
	if err != nil {
		e.refuse(from, err)
		return
	}
	e.welcome(from, p, h)
}

// welcome accepts a connection that a process made.
func (e *Engine) welcome(from bmi.Addr, p *Proc, h wire.Hello) {
	l, err := e.linkTo(from)
	if err != nil {
		e.refuse(from, err)
		return
	}
	if l.proc != nil && l.proc != p || l != p.route && p.into != nil && p.into != l {
		e.refuse(from, errclass.New(errclass.Other, "process %s connects a second time", p))
		return
	}
	fresh := l.proc == nil
	l.proc, l.known = p, true
	if l != p.route { // otherwise it answers our HELLO
		p.into = l
		p.meet()
	}
	e.tell(Event{Kind: Connected, Proc: p})
	p.widen(h.Window)
	if fresh {
		l.watch()
	}
	if l.sendHello(); p.err == nil {
		p.flush()
	}
}

// refuse drops a connection of an unknown or unacceptable process, so that the process notices.
func (e *Engine) refuse(from bmi.Addr, why error) {
	e.stats.Refused++
	e.tell(Event{Kind: ConnectionRefused, Cause: why})
	switch l := e.links[from]; {
	case l == nil:
		_ = e.ep.DropAddr(from)
	case l.proc == nil:
		l.drop()
	default:
		l.proc.fail(why)
	}
	e.log.Warn("mpi: a connection was refused", "from", from.String(), "cause", why)
}
