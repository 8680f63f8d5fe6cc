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
	"github.com/viaduct-hpc/viaduct/internal/queue"
	"github.com/viaduct-hpc/viaduct/matchbits"
	"github.com/viaduct-hpc/viaduct/mpi/core/wire"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// Config is what an Engine is made with.
type Config struct {
	// Endpoint carries the messages. The Engine has its unexpected messages of class 0,
	// and does not close it.
	Endpoint *bmi.Endpoint
	// Self is this process as others know it.
	Self Card
	// Route chooses under which of its addresses a process is reached, best first.
	// nil takes them as they come.
	Route func(peer Card) []string
	// Log receives the few events worth a line; nil discards them.
	Log *slog.Logger
	// Limits bound what the engine keeps. Zero values mean defaults.
	Limits Limits
	// Seed makes the match table's places unpredictable; 0 takes a random one.
	Seed uint64
	// Manual is the endpoint's Config.Manual: nobody waits, and Progress is called.
	Manual bool
}

// An Engine is one process's place among others. Any goroutine may call its methods.
//
// One mutex guards all state, and is taken before any lock of bmi: by who posts, by the
// handler of unexpected messages, and by who takes completions. quickArrivals alone is called
// with a lock of bmi held, and so only tries to take it.
type Engine struct {
	cfg  Config
	ep   *bmi.Endpoint
	ctx  *bmi.Context
	log  *slog.Logger
	self *Proc

	mu     sync.Mutex
	closed bool
	match  *matchbits.Engine[waiting]
	sends  sendTable
	scopes map[ContextID]*Scope
	freed  []*Scope // closed ones; those of which receives from any source are posted
	procs  map[ProcID]*Proc
	links  map[bmi.Addr]*link
	recent *link // whose packet came last

	turns       uint64    // receives that were put in match
	lone        *op       // the only posted receive, which is not in match then; or nil
	blockers    sync.Pool // of ops; guarded by itself
	freeOps     *op
	freeEarlies *early
	freePieces  *piece
	freePackets *packet
	pool        buffers.Pool
	head        [wire.EagerBytes]byte       // of a message that is sent without a packet
	scratch     []byte                      // the next small packet, unless bmi has it
	held        queue.FIFO[packet, *packet] // that bmi had no room for
	unwatched   []*link                     // for whose watch bmi had no room
	stalled     queue.FIFO[op, *op]         // whose next piece bmi had no room for
	selfBytes   int                         // what messages to this process itself count that it keeps
	lent        int                         // packets and pieces that bmi has
	detached    int                         // active ops that nobody will collect
	onFailure   func(*Proc, error)
	stats       Stats

	arrivals atomic.Uint64 // messages that found no receive, for who probes
	changes  atomic.Uint64 // whatever Close waits for
}

// A waiting is an entry of the match table: a receive that was posted, or a message that
// came before its receive.
type waiting struct {
	recv  *op
	early *early
}

// New makes an engine. The endpoint must have no handler for class 0 yet.
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
		match:   matchbits.New[waiting](matchbits.Options{Significant: matchbits.MaskAll, Seed: cfg.Seed}),
		scopes:  make(map[ContextID]*Scope),
		procs:   make(map[ProcID]*Proc),
		links:   make(map[bmi.Addr]*link),
		scratch: make([]byte, 0, smallPacketMax),
	}
	e.self = &Proc{e: e, card: cfg.Self, known: true}
	e.procs[cfg.Self.ID] = e.self
	if err := e.ep.Handle(class, e.arrive); err != nil {
		return nil, errclass.Wrap(errclass.Other, err, "taking the endpoint's unexpected messages")
	}
	e.ep.HandleQuick(class, quickArrivals{e})
	return e, nil
}

// class is that of all packets: some methods know no other.
const class bmi.Class = 0

// Self is this process.
func (e *Engine) Self() *Proc { return e.self }

// OnFailure sets what is called, in a goroutine of its own, after a process failed.
func (e *Engine) OnFailure(fn func(p *Proc, err error)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.onFailure = fn
}

// Close waits until everything that was sent is out, tells the peers that this process
// leaves in good order, and ends what is still posted with errclass.Other. It returns
// ctx's error if that ends first; the engine is closed all the same.
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
	for _, p := range e.procs {
		p.sayBye()
	}
	e.mu.Unlock()
	if err == nil {
		err = e.settle(ctx)
	}
	e.mu.Lock()
	gone := errclass.New(errclass.Other, "this process has finalized")
	for _, p := range e.procs {
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
	_ = e.ep.Handle(class, nil) // of an endpoint that is closed it fails, and nobody is called
	if cerr := e.ctx.Close(); cerr != nil && err == nil {
		err = errclass.Wrap(errclass.Other, cerr, "closing the context")
	}
	return err
}

// settle waits until nothing is on its way out.
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

// changed lets those look who wait for the engine, and not for an op.
func (e *Engine) changed() {
	e.changes.Add(1)
	e.ctx.Notify()
}
