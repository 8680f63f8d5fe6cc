package core

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/internal/buffers"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Config configures an Engine.
type Config struct {
	// Endpoint carries the messages. The Engine uses its unexpected messages of class 0, and does
	// not close it.
	Endpoint *bmi.Endpoint
	// Self is this process's card.
	Self Card
	// Route returns the addresses to try for a process, best first. nil means all of its addresses
	// in their order.
	Route func(peer Card) []string
	// Find returns the addresses of a process whose card has none. It is called once for each such
	// process, when they are needed first, and nothing else happens in the engine meanwhile. nil:
	// all cards have addresses.
	Find func(id ProcID) ([]string, error)
	// Log receives a few important events; nil discards them.
	Log *slog.Logger
	// Limits are the engine's limits. Zero values mean defaults.
	Limits Limits
	// Seed makes the layout of the match table unpredictable; 0 means a random seed.
	Seed uint64
	// Manual is the endpoint's Config.Manual: no call waits, and the caller calls Progress.
	Manual bool
}

// An Engine is one process's view of all processes. Its methods may be called from any goroutine.
//
// One lock guards all state. Small messages take short holds of it, and what has to call bmi takes a
// long one (stateLock).
type Engine struct {
	cfg  Config
	ep   *bmi.Endpoint
	ctx  *bmi.Context
	log  *slog.Logger
	self *Proc

	mu     stateLock
	closed bool
	match  *matchbits.Engine[*op, *early]
	sends  sendTable
	scopes map[ContextID]*Scope
	freed  []*Scope // closed scopes that still have posted receives from any source
	procs  map[ProcID]*Proc
	met    []*Proc // the procs to which there is or was a connection, and this process
	links  map[bmi.Addr]*link
	recent *link // the link of the latest packet

	turns       uint64    // counts receives that were put in match
	recvs       recvQueue // posted receives that are not in match
	blockers    sync.Pool // of ops; guarded by itself
	freeOps     *op
	freeSent    *op // of kind opSent
	freeEarlies *early
	freePieces  *piece
	freePackets *packet
	aware       bool // the program has learned that a process failed
	pool        buffers.Pool
	head        [wire.EagerBytes]byte       // of a message that is sent without a packet
	scratch     []byte                      // memory of the next small packet, unless bmi has it
	held        queue.FIFO[packet, *packet] // packets that bmi had no room for
	unwatched   []*link                     // links whose lifeline receive bmi had no room for
	stalled     queue.FIFO[op, *op]         // ops whose next piece bmi had no room for
	selfBytes   int                         // charge of the messages to this process itself that it keeps
	lent        int                         // packets and pieces in bmi
	detached    int                         // active ops that no call will collect
	kept        int                         // calls of other processes that Servers keep
	attending   bool                        // a goroutine takes completions: see attend
	onFailure   func(*Proc, error)
	stats       Stats
	watch       *watch // nil: nobody observes the engine

	arrivals atomic.Uint64 // counts messages that found no receive, for probes
	changes  atomic.Uint64 // counts events that Close waits for
}

// New makes an engine. The endpoint must not have a handler for class 0.
func New(cfg Config) (*Engine, error) {
	cfg.Limits = cfg.Limits.withDefaults()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Route == nil {
		cfg.Route = func(peer Card) []string { return peer.Addresses }
	}
	if cfg.Seed == 0 {
		var b [8]byte
		if _, err := rand.Read(b[:]); err != nil {
			return nil, errclass.Wrap(errclass.Other, err, "no random numbers")
		}
		cfg.Seed = binary.LittleEndian.Uint64(b[:])
	}
	ctx, err := cfg.Endpoint.OpenContext()
	if err != nil {
		return nil, errclass.Wrap(errclass.Other, err, "opening a context of the endpoint")
	}
	e := &Engine{
		cfg: cfg, ep: cfg.Endpoint, ctx: ctx, log: cfg.Log,
		match:   matchbits.New[*op, *early](matchbits.Options{Significant: matchbits.MaskAll, Seed: cfg.Seed}),
		scopes:  make(map[ContextID]*Scope),
		procs:   make(map[ProcID]*Proc),
		links:   make(map[bmi.Addr]*link),
		scratch: make([]byte, 0, smallPacketMax),
	}
	e.mu.guard = e.ep.Guard()
	e.self = &Proc{e: e, card: cfg.Self, known: true}
	e.procs[cfg.Self.ID] = e.self
	e.self.meet()
	if err := e.ep.Handle(class, e.arrive); err != nil {
		return nil, errclass.Wrap(errclass.Other, err, "taking the endpoint's unexpected messages")
	}
	e.ep.HandleQuick(class, quickArrivals{e})
	return e, nil
}

// class is the class of all packets: some methods have no other.
const class bmi.Class = 0

// Self returns this process.
func (e *Engine) Self() *Proc { return e.self }

// OnFailure sets a function that is called, in a goroutine of its own, after a process failed.
func (e *Engine) OnFailure(fn func(p *Proc, err error)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.onFailure = fn
}

// Close waits until everything is sent, tells the peers that this process leaves in good order, and
// ends posted operations with errclass.Other. If ctx ends first, Close returns its error; the
// engine is closed in any case.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	e.mu.Unlock()
	err := e.settle(ctx)
	e.mu.Lock()
	for _, p := range e.met {
		p.sayBye()
	}
	e.mu.Unlock()
	if err == nil {
		err = e.settle(ctx)
	}
	e.mu.Lock()
	gone := errclass.New(errclass.Other, "this process has finalized")
	for _, p := range e.met {
		p.left = true
		p.failOps(gone)
	}
	for _, s := range e.scopes {
		s.failAnys(gone)
	}
	for _, s := range e.freed {
		s.failAnys(gone)
	}
	e.mu.Unlock()
	e.ep.HandleQuick(class, nil)
	_ = e.ep.Handle(class, nil) // fails if the endpoint is closed; then no handler is called
	if cerr := e.ctx.Close(); cerr != nil && err == nil {
		err = errclass.Wrap(errclass.Other, cerr, "closing the context")
	}
	return err
}

// settle waits until bmi has no packet or piece of the engine.
func (e *Engine) settle(ctx context.Context) error {
	for {
		seen := e.changes.Load()
		e.mu.Lock()
		quiet := e.lent == 0 && e.detached == 0 && e.held.Empty()
		e.mu.Unlock()
		if quiet {
			return nil
		}
		if err := e.await(ctx, func() bool { return e.changes.Load() != seen }); err != nil {
			return err
		}
	}
}

// changed wakes the calls that wait for the engine rather than for an op.
func (e *Engine) changed() {
	e.changes.Add(1)
	e.ctx.Notify()
}
