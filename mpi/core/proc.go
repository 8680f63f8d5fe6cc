package core

import (
	"errors"
	"fmt"

	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Proc is a process, this one included. The same process is always the same Proc.
//
// What it may send is bounded by two counters on each side, which only grow and wrap, in
// bytes: the sender's charged and returned, with charged−returned ≤ window; the receiver's
// arrived and consumed, with arrived−consumed ≤ its own window.
type Proc struct {
	e    *Engine
	card Card

	// Guarded by Engine.mu.
	route *link  // where packets go that begin something; nil until the first
	into  *link  // where its own came in, if that is another
	known bool   // somebody here has its card; else it came by itself
	name  string // of Call
	err   error  // what became of it; nil while it is believed to be there
	left  bool   // it said BYE, or we are closed
	bye   bool   // we said BYE
	// broken are contexts that it said are, and that are not open here yet.
	broken map[ContextID]struct{}

	window            uint32 // of the peer
	charged, returned uint32 // of what we sent it
	arrived, consumed uint32 // of what it sent us
	told              uint32 // of consumed, what it knows

	backlog queue.FIFO[op, *op]       // sends that wait for the window, in order
	ops     queue.List[op, *op]       // all that this process waits for
	earlies queue.List[early, *early] // messages of it that wait for a receive
	taken   queue.List[early, *early] // messages of it that matched probes have
	names   map[uint32]*early         // of earlies and former ones by id; nil until the first CANCEL
	tag     uint32                    // of the latest message that moves from it to us
}

// Card is how the process is known. Of one that came by itself it changes when Engine.Proc is
// told of it, and not any more after that.
func (p *Proc) Card() Card { return p.card }

// Err is nil while the process is believed to be there, and then says what became of it:
// an errclass.ProcFailed.
func (p *Proc) Err() error {
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	return p.err
}

// Proc is the process with this card, the same one for the same id. It does not connect.
func (e *Engine) Proc(card Card) (*Proc, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p, err := e.procLocked(card)
	if err == nil && !p.known {
		p.known, p.card = true, card // whatever it said itself
	}
	return p, err
}

func (e *Engine) procLocked(card Card) (*Proc, error) {
	if p := e.procs[card.ID]; p != nil {
		return p, nil
	}
	if e.closed {
		return nil, errFinalized
	}
	p := &Proc{e: e, card: card, window: windowMin}
	e.procs[card.ID] = p
	return p, nil
}

var errFinalized = errclass.New(errclass.Other, "this process has finalized: communicate before")

// gone is why nothing can be sent to the process; nil if it can.
func (p *Proc) gone() error {
	switch {
	case p.err != nil:
		return p.err
	case p.left:
		return errclass.New(errclass.ProcFailed, "process %s has finalized", p)
	}
	return nil
}

// Call gives the process a name that says more to people than its address.
func (p *Proc) Call(name string) {
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	p.name = name
}

// String names the process for people.
func (p *Proc) String() string {
	name := p.card.ID.String()[:8]
	if len(p.card.Addresses) > 0 {
		name = p.card.Addresses[0]
	}
	if p.name != "" {
		return fmt.Sprintf("%s (%s)", p.name, name)
	}
	return name
}

// fail ends everything that waits for a process which is not there any more.
func (p *Proc) fail(cause error) {
	if p.err != nil || p.left || p == p.e.self {
		return
	}
	e := p.e
	p.err = errclass.Wrap(errclass.ProcFailed, cause, "process %s failed", p)
	e.stats.Failed++
	e.log.Warn("mpi: a process failed", "process", p.String(), "cause", cause)
	p.cut()
	p.failOps(p.err)
	if !p.known {
		p.strip()
	}
	for _, s := range e.scopes {
		if s.has(p) {
			s.unacknowledged++
			s.failAnys(errclass.Wrap(errclass.ProcFailedPending, p.err, "it may be what the receive waits for"))
		}
	}
	for _, s := range e.freed {
		if s.has(p) {
			s.failAnys(errclass.Wrap(errclass.ProcFailedPending, p.err, "it may be what the receive waits for"))
		}
	}
	if fn := e.onFailure; fn != nil {
		go fn(p, p.err)
	}
	e.arrivals.Add(1) // who probes looks again
	e.changed()
}

// strip forgets of a failed process what nobody can use, should anybody ever get to know it:
// there may be any number of such processes.
func (p *Proc) strip() {
	p.card = Card{ID: p.card.ID}
	p.names, p.broken = nil, nil
	for m := p.earlies.First(); m != nil; {
		next := p.earlies.Next(m)
		if m.piece != 0 { // its data will not come
			p.e.drop(m)
		}
		m = next
	}
}

// broke is fail for a peer that broke the protocol.
func (p *Proc) broke(format string, args ...any) {
	p.e.stats.Protocol++
	p.fail(errclass.New(errclass.Intern, "it broke the protocol: "+format, args...))
}

// cut makes bmi give back what it has of ours, and forget the connections.
func (p *Proc) cut() {
	for _, l := range []*link{p.route, p.into} {
		if l != nil {
			l.drop()
		}
	}
	p.route, p.into = nil, nil
}

// failOps ends every operation that waits for the process.
func (p *Proc) failOps(err error) {
	p.e.join()
	for o := p.ops.First(); o != nil; {
		next := p.ops.Next(o)
		o.fail(err)
		o = next
	}
}

// any is a connection to the process, whichever side made it; nil if there is none.
func (p *Proc) any() *link {
	if p.route != nil {
		return p.route
	}
	return p.into
}

// via is the connection for what this process begins. It connects if there is none.
func (p *Proc) via() (*link, error) {
	if p.route != nil {
		return p.route, nil
	}
	if p.into != nil {
		p.route = p.into
		return p.route, nil
	}
	var errs []error
	for _, text := range p.e.cfg.Route(p.card) {
		addr, err := p.e.ep.Lookup(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		return p.connect(addr)
	}
	if len(errs) == 0 {
		return nil, errclass.New(errclass.Other, "no method of this process reaches %s, which listens on %v", p, p.card.Addresses)
	}
	return nil, errclass.Wrap(errclass.Other, errors.Join(errs...), "no address of process %s is of use", p)
}
