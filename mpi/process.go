package mpi

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/bmi/about"
	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/group"
)

// Contexts of the communicators that a process begins with, the same in all processes. Each also
// uses the odd context after it.
const (
	worldContext core.ContextID = 0
	selfContext  core.ContextID = 2
)

// A Process is one process of a job: the state that other languages keep globally between MPI_Init
// and MPI_Finalize. Its methods may be called from any goroutine.
type Process struct {
	boot   boot.Boot
	ep     *bmi.Endpoint
	engine *core.Engine
	log    *slog.Logger
	hook   Hook // may be nil

	near     bool            // all processes of the job are on one host
	told     settings        // what rank 0 decides for all
	options  Options         // of Init, with defaults
	launched []about.Setting // what the environment said of the launcher
	world    *Comm
	self     *Comm
	taken    contexts     // contexts in use by communicators
	ports    ports        // opened by OpenPort
	classes  errorClasses // added by AddErrorClass
	parent   *Comm        // the processes that spawned this one; nil if it was not spawned

	leftovers atomic.Int64 // what calls that have returned have left to the library

	parentPort  string        // the port of those processes; "" if the process was not spawned
	initTimeMax time.Duration // limits the wait for spawned processes
	exposed     string        // why messages between hosts are not protected; "" if they are

	hide func() // undoes watch.Source.Open; nil if nothing is shown

	manual      bool        // no call waits: a simulation drives the endpoint
	initialized atomic.Bool // Init has succeeded; engine and world do not change any more
	strangers   atomic.Bool // there are or were connections to processes of other jobs
	ending      atomic.Bool // Finalize has been called
	finalized   atomic.Bool // communication is no longer possible
}

// World returns the communicator of all processes that were started together (MPI_COMM_WORLD;
// MPI-4.1, 7.2.4).
func (p *Process) World() *Comm { return p.world }

// Self returns the communicator of this process alone (MPI_COMM_SELF; MPI-4.1, 7.2.4).
func (p *Process) Self() *Comm { return p.self }

// Endpoint returns the process's endpoint, for its counters.
func (p *Process) Endpoint() *bmi.Endpoint { return p.ep }

// Finalized tells whether Finalize has ended the process's part (MPI_Finalized; MPI-4.1, 11.2.3). A
// Process is initialized from the start.
func (p *Process) Finalized() bool { return p.finalized.Load() }

// openWorlds makes the communicators that a process begins with.
func (p *Process) openWorlds(procs []*core.Proc) error {
	p.taken.reserve(worldContext)
	p.taken.reserve(selfContext)
	p.taken.reserve(core.Farewell)
	all, err := group.New(procs)
	if err != nil {
		return err
	}
	if p.world, err = p.openComm(worldContext, all, nil, nil); err != nil {
		return err
	}
	p.world.name = "MPI_COMM_WORLD"
	alone, err := group.New([]*core.Proc{p.engine.Self()})
	if err != nil {
		return err
	}
	if p.self, err = p.openComm(selfContext, alone, nil, nil); err != nil {
		return err
	}
	p.self.name = "MPI_COMM_SELF"
	return nil
}

// noteStrangers records whether some of the processes belong to another job. A process meets other
// jobs only over inter-communicators (MPI-4.1, 11.9).
func (p *Process) noteStrangers(procs []*core.Proc) {
	for _, q := range procs {
		if !p.world.group.Contains(q) {
			p.strangers.Store(true)
			return
		}
	}
}

// Abort ends all processes of the job with an exit code, and says why (MPI_Abort; MPI-4.1, 11.4.2).
// It returns only if that fails.
func (p *Process) Abort(code int, why string) error { return p.boot.Abort(code, why) }

// background is the context of calls that have no context argument.
var background = context.Background()

// orBackground returns ctx, or background if ctx is nil.
func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return background
	}
	return ctx
}
