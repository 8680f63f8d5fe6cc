package mpi

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/viaduct-hpc/viaduct/bmi"
	"github.com/viaduct-hpc/viaduct/mpi/boot"
	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/group"
)

// Contexts of the communicators that a process begins with, the same in all processes. The
// odd ones after them belong to them, too.
const (
	worldContext core.ContextID = 0
	selfContext  core.ContextID = 2
)

// A Process is one process of a job: what other languages keep in global state between
// MPI_Init and MPI_Finalize. Any goroutine may call its methods.
type Process struct {
	boot   boot.Boot
	ep     *bmi.Endpoint
	engine *core.Engine
	log    *slog.Logger
	hook   Hook // nil: none

	cards   []core.Card // of the processes of the job, by rank
	world   *Comm
	self    *Comm
	taken   contexts     // those that communicators have
	bsends  bsendBuffer  // what AttachBuffer gave the process
	ports   ports        // that OpenPort opened
	classes errorClasses // that AddErrorClass added
	parent  *Comm        // who spawned the process; nil if nobody did

	parentPort  string        // where those listen; "" if the process was not spawned
	initTimeMax time.Duration // bounds how long spawned processes take

	manual    bool        // nobody waits: the endpoint is driven by a simulation
	strangers atomic.Bool // there are, or were, connections to processes of other jobs
	ending    atomic.Bool // Finalize has been called
	finalized atomic.Bool // nothing may be communicated any more
}

// World is the communicator of all processes that were started together (MPI_COMM_WORLD;
// MPI-4.1, 7.2.4).
func (p *Process) World() *Comm { return p.world }

// Self is the communicator of this process alone (MPI_COMM_SELF; MPI-4.1, 7.2.4).
func (p *Process) Self() *Comm { return p.self }

// Engine is what moves the process's messages, for its counters.
func (p *Process) Engine() *core.Engine { return p.engine }

// Endpoint is the process's place in the network, for its counters.
func (p *Process) Endpoint() *bmi.Endpoint { return p.ep }

// Boot is what the process's job was started by.
func (p *Process) Boot() boot.Boot { return p.boot }

// Finalized tells whether Finalize has ended the process's part (MPI_Finalized; MPI-4.1,
// 11.2.3). A Process that exists has been initialized.
func (p *Process) Finalized() bool { return p.finalized.Load() }

// openWorlds makes the communicators that a process begins with.
func (p *Process) openWorlds(procs []*core.Proc) error {
	p.taken.reserve(worldContext)
	p.taken.reserve(selfContext)
	p.taken.reserve(farewellContext)
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

// noteStrangers looks whether some of the processes are not of this job. All of another job
// are first met across an inter-communicator (MPI-4.1, 11.9).
func (p *Process) noteStrangers(procs []*core.Proc) {
	for _, q := range procs {
		if !p.world.group.Contains(q) {
			p.strangers.Store(true)
			return
		}
	}
}

// Abort ends all processes of the job with an exit code (MPI_Abort; MPI-4.1, 11.4.2). It
// returns only if that cannot be done.
func (p *Process) Abort(code int, why string) error { return p.boot.Abort(code, why) }

// Abort is Process.Abort: all processes of the job end, whichever are in the communicator.
func (c *Comm) Abort(code int) error {
	if c == nil {
		return errNullComm
	}
	return c.p.Abort(code, "the program called Abort on "+c.String())
}

// background is the context of calls that take none.
var background = context.Background()

// orBackground is the context of a call that was given one, or nil for one that never ends.
func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return background
	}
	return ctx
}
