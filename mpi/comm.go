package mpi

import (
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/internal/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
	"github.com/viaduct-hpc/viaduct/mpi/group"
)

// A Comm is a communicator: processes with ranks, whose messages are kept apart from those of every
// other communicator (MPI-4.1, 7.4). An inter-communicator has two groups, and the ranks of its
// messages are ranks in the remote group (MPI-4.1, 7.6). Its methods may be called from any
// goroutine.
type Comm struct {
	p      *Process
	ctx    core.ContextID               // of point-to-point messages; collective operations use ctx+1
	p2p    *core.Scope                  // context ctx
	coll   *core.Scope                  // context ctx+1
	group  *group.Group[*core.Proc]     // this process's group
	remote *group.Group[*core.Proc]     // the other group; nil unless it is an inter-communicator
	rank   int                          // this process's, in group
	peers  int                          // the number of ranks that messages go to and come from
	state  atomic.Uint32                // commLive, or why the communicator cannot be used
	own    origin                       // of the communicator's requests
	onErr  atomic.Pointer[ErrorHandler] // nil: errors are returned
	bsends bsendBuffer                  // memory that AttachBuffer gave the communicator
	parts  commParts                    // everything beyond point-to-point messages
	hidden bool                         // the hook does not see calls: it is of the inside of mpi/file, or of mpi/rma until it is shown

	mu   sync.Mutex
	name string // guarded by mu
}

// States of a communicator.
const (
	commLive    = iota
	commNotMade // Idup has returned it, but its request has not ended
	commFreed
)

// openComm makes a communicator of a context that is free in all its processes. local contains this
// process; remote is nil unless the communicator is an inter-communicator. The new communicator
// gets parent's error handler; if parent is nil, errors are returned.
func (p *Process) openComm(ctx core.ContextID, local, remote *group.Group[*core.Proc], parent *Comm) (*Comm, error) {
	c := new(Comm)
	if err := p.openInto(c, ctx, local, remote, parent); err != nil {
		return nil, err
	}
	return c, nil
}

// openInto is openComm for a Comm that the caller has made.
func (p *Process) openInto(c *Comm, ctx core.ContextID, local, remote *group.Group[*core.Proc], parent *Comm) error {
	if c.p == nil { // Idup has set it, and others may read it
		c.p = p
	}
	c.ctx, c.group, c.remote, c.rank = ctx, local, remote, local.Rank(p.engine.Self())
	if c.rank == group.Undefined {
		return errclass.New(errclass.Group, "this process is not in the group that the communicator is for")
	}
	to := local
	if remote != nil {
		to = remote
	}
	peers := to.Members()
	c.peers = len(peers)
	c.own.comm = c
	if remote != nil {
		p.noteStrangers(peers)
	}
	if parent != nil {
		c.onErr.Store(parent.onErr.Load())
	}
	var err error
	if c.p2p, err = p.engine.OpenScope(ctx, c.rank, peers); err != nil {
		return err
	}
	if c.coll, err = p.engine.OpenScope(ctx+1, c.rank, peers); err != nil {
		_ = c.p2p.Close() // nothing was posted in it
		return err
	}
	return nil
}

// Process returns the process that the communicator belongs to, or nil for a nil Comm.
func (c *Comm) Process() *Process {
	if c == nil {
		return nil
	}
	return c.p
}

// Rank returns this process's rank in its group, 0 to Size()-1, or Undefined for a nil Comm
// (MPI_Comm_rank; MPI-4.1, 7.4.1).
func (c *Comm) Rank() int {
	if c == nil {
		return Undefined
	}
	return c.rank
}

// Size returns the number of processes in this process's group (MPI_Comm_size; MPI-4.1, 7.4.1).
func (c *Comm) Size() int {
	if c == nil {
		return 0
	}
	return c.group.Size()
}

// IsInter tells whether c is an inter-communicator (MPI_Comm_test_inter; MPI-4.1, 7.6.1).
func (c *Comm) IsInter() bool { return c != nil && c.remote != nil }

// String returns the name that SetName set. The communicators that a process begins with have the
// names that the standard gives them (MPI_Comm_get_name; MPI-4.1, 7.8).
func (c *Comm) String() string {
	if c == nil {
		return "MPI_COMM_NULL"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.name
}

// nameBytesMax limits the name of a communicator (MPI_MAX_OBJECT_NAME; MPI-4.1, 7.8).
const nameBytesMax = 128

// SetName gives the communicator a name for log and error messages, in this process only
// (MPI_Comm_set_name; MPI-4.1, 7.8). A name has at most 128 bytes.
func (c *Comm) SetName(name string) (err error) {
	defer c.call("MPI_Comm_set_name", &err)()
	if err := c.checkLive(); err != nil {
		return err
	}
	if len(name) > nameBytesMax {
		return errclass.New(errclass.Arg, "the name has %d bytes, at most %d are kept", len(name), nameBytesMax)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.name = name
	return nil
}
