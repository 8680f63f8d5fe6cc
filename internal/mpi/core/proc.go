package core

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Proc is a process; this process is one too. There is only one Proc for each process.
//
// Two counters on each side limit what the process may send. They count bytes, only grow, and wrap.
// The sender has charged and returned, with charged−returned ≤ window; the receiver has arrived and
// consumed, with arrived−consumed ≤ its own window.
type Proc struct {
	e    *Engine
	card Card

	// Guarded by Engine.mu.
	found []string // what Config.Find returned, if the card has no addresses
	route *link    // for packets that begin an operation; nil until the first
	into  *link    // the connection that the process made, if it is another one
	met   bool     // in Engine.met
	known bool     // Engine.Proc was called with its card; otherwise it connected by itself
	place int32    // in the list of Procs, from 1: messages to users call it by its rank; 0: in none
	err   error    // why it failed; nil while it is believed to be alive
	left  bool     // it sent BYE, or the engine is closed
	bye   bool     // BYE was sent to it
	// doubted: a connection to it ended before it answered on it. It fails soon, unless it has left.
	doubted bool
	// undelivered counts messages that could not be delivered after their sends had completed.
	undelivered uint64
	// broken has the contexts that it reported as broken and that are not open here yet.
	broken map[ContextID]struct{}

	window            uint32 // of the peer
	charged, returned uint32 // of messages to it
	arrived, consumed uint32 // of messages from it
	told              uint32 // the value of consumed that it knows

	backlog queue.FIFO[op, *op] // sends that wait for the window, in order
	ops     queue.List[op]      // operations that wait for this process
	earlies queue.List[early]   // messages from it that wait for a receive
	taken   queue.List[early]   // messages from it that matched probes have taken
	names   map[uint32]*early   // earlies by id, and some that were received; nil until the first CANCEL
	tag     uint32              // of the latest message that moved from it to us
	calls   calls               // of this process to it
}

// Card returns the process's card. If the process connected by itself, the card may change once,
// when Engine.Proc is called with another. It has no addresses if those are found when they are
// needed (Config.Find).
func (p *Proc) Card() Card { return p.card }

// WholeCard is Card with the addresses.
func (p *Proc) WholeCard() (Card, error) {
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	return p.whole()
}

// whole is WholeCard with the lock.
func (p *Proc) whole() (Card, error) {
	card := p.card
	if len(card.Addresses) > 0 || p.e.cfg.Find == nil {
		return card, nil
	}
	if p.found == nil {
		found, err := p.e.cfg.Find(card.ID)
		if err != nil {
			return card, err
		}
		p.found = found
	}
	card.Addresses = p.found
	return card, nil
}

// Err returns nil while the process is believed to be alive, and then the reason of its failure, an
// errclass.ProcFailed.
func (p *Proc) Err() error {
	p.e.mu.Lock()
	defer p.e.mu.Unlock()
	p.e.aware = p.e.aware || p.err != nil
	return p.err
}

// Proc returns the process with this card, always the same one for the same id. It does not
// connect.
func (e *Engine) Proc(card Card) (*Proc, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p, err := e.procLocked(card)
	if err == nil && !p.known {
		p.known, p.card = true, card // replaces the card that the process sent
	}
	return p, err
}

// Procs returns the processes with these cards, in their order, as Proc does. It is for those of a
// job, by rank: they may be many.
func (e *Engine) Procs(cards []Card) ([]*Proc, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errFinalized
	}
	before := e.procs
	e.procs = make(map[ProcID]*Proc, len(before)+len(cards))
	maps.Copy(e.procs, before)
	all, fresh := make([]*Proc, len(cards)), make([]Proc, len(cards))
	for i, card := range cards {
		p := e.procs[card.ID]
		if p == nil {
			p = &fresh[i]
			p.e, p.window = e, windowMin
			e.procs[card.ID] = p
		}
		if !p.known {
			p.known, p.card = true, card
		}
		p.place = int32(i + 1)
		all[i] = p
	}
	return all, nil
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

// meet notes that there is a connection to the process. Without one, no operation waits for it.
func (p *Proc) meet() {
	if !p.met {
		p.met = true
		p.e.met = append(p.e.met, p)
	}
}

// gone returns why nothing can be sent to the process, or nil if messages can be sent.
func (p *Proc) gone() error {
	switch {
	case p.err != nil:
		p.e.aware = true
		return p.err
	case p.left:
		return errclass.New(errclass.ProcFailed, "process %s has finalized", p)
	}
	return nil
}

// String names the process for messages to users.
func (p *Proc) String() string {
	name := p.card.ID.String()[:8]
	host, _, _ := strings.Cut(p.card.Host, "/")
	switch {
	case len(p.card.Addresses) > 0:
		name = p.card.Addresses[0]
	case host != "":
		name = "on " + host
	}
	if p.place > 0 {
		return fmt.Sprintf("%d (%s)", p.place-1, name)
	}
	return name
}

// fail marks a process as failed, and ends everything that waits for it.
func (p *Proc) fail(cause error) {
	if p.err != nil || p.left || p == p.e.self {
		return
	}
	e := p.e
	p.err = errclass.Wrap(errclass.ProcFailed, cause, "process %s failed", p)
	e.stats.Failed++
	e.stats.Lost += p.undelivered
	e.log.Warn("mpi: a process failed", "process", p.String(), "cause", cause)
	e.tell(Event{Kind: ProcessFailed, Proc: p, Cause: cause})
	p.cut()
	p.failOps(p.err)
	p.lostServed()
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
	e.arrivals.Add(1) // wakes probes
	e.changed()
}

// strip frees the state of a failed process that Engine.Proc was never called for: there may be any
// number of such processes.
func (p *Proc) strip() {
	p.card = Card{ID: p.card.ID}
	p.names, p.broken = nil, nil
	for m := p.earlies.First(); m != nil; {
		next := m.links.Next()
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

// cut drops the connections, so that bmi returns the engine's memory.
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
		next := o.links.Next()
		p.e.aware = p.e.aware || o.scope.id != Farewell
		o.fail(err)
		o = next
	}
	p.failCalls(err)
}

// any returns a connection to the process, made by either side, or nil if there is none.
func (p *Proc) any() *link {
	if p.route != nil {
		return p.route
	}
	return p.into
}

// via returns the connection for operations that this process begins. It connects if there is none.
func (p *Proc) via() (*link, error) {
	if p.route != nil {
		return p.route, nil
	}
	if p.into != nil {
		p.route = p.into
		return p.route, nil
	}
	card, err := p.whole()
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, text := range p.e.cfg.Route(card) {
		addr, err := p.e.ep.Lookup(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		return p.connect(addr)
	}
	if len(errs) == 0 {
		return nil, errclass.New(errclass.Other, "no method of this process reaches %s, which listens on %v", p, card.Addresses)
	}
	return nil, errclass.Wrap(errclass.Other, errors.Join(errs...), "no address of process %s is of use", p)
}
