package mpi

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/viaduct-hpc/viaduct/mpi/core"
	"github.com/viaduct-hpc/viaduct/mpi/errclass"
)

// A Request is an operation that was posted, and has to be waited for, tested or freed
// (MPI-4.1, 3.7). It is a small value that may be copied; the zero Request is
// MPI_REQUEST_NULL. Once a call has told that the operation ended, every copy is like the
// zero one. Persistent requests become inactive instead, until Start.
//
// The memory of the operation is the library's until then.
type Request struct {
	r    core.Request
	from *origin // nil only of the zero Request
}

// An origin is what a Request came from: a communicator, whose requests of the engine all
// have the same one, or a persistent operation that the engine does not know, such as a
// collective one.
type origin struct {
	comm *Comm

	// start begins a round of a persistent operation that the engine does not know; nil of
	// all others.
	start func() (core.Request, error)

	// task is the latest round of a collective operation; nil of all others.
	task atomic.Pointer[task]

	mu    sync.Mutex
	round core.Request // the latest round; guarded by mu
	freed bool         // guarded by mu
}

// request makes a Request of one of the engine.
func (c *Comm) request(r core.Request) Request { return Request{r: r, from: &c.own} }

// persistent makes a persistent Request whose rounds start begins. A round is never begun
// while another is active.
func (c *Comm) persistent(start func() (core.Request, error)) Request {
	return Request{from: &origin{comm: c, start: start}}
}

// operation is what the engine waits for.
func (r Request) operation() core.Request {
	if r.from == nil || r.from.start == nil {
		return r.r
	}
	r.from.mu.Lock()
	defer r.from.mu.Unlock()
	return r.from.round
}

// comm is the communicator of the request; nil of the zero one.
func (r Request) comm() *Comm {
	if r.from == nil {
		return nil
	}
	return r.from.comm
}

// IsNull tells whether r is the zero Request, MPI_REQUEST_NULL.
func (r Request) IsNull() bool { return r.from == nil }

// Wait waits until the operation ended, and tells of its message (MPI_Wait; MPI-4.1,
// 3.7.3). A null, ended or inactive request ends at once with the empty Status. The error
// is the operation's.
func (r Request) Wait() (Status, error) { return r.WaitContext(background) }

// WaitContext is Wait that ends with ctx's error when ctx ends; the operation goes on then.
func (r Request) WaitContext(ctx context.Context) (Status, error) {
	if r.from == nil {
		return emptyStatus, nil
	}
	ctx = orBackground(ctx)
	c := r.from.comm
	call := c.enter(Call{Name: "MPI_Wait", Comm: c, Peer: Undefined, Tag: Undefined})
	r.help(ctx)
	st, err := r.operation().Wait(ctx)
	return Status(st), c.leave(call, err)
}

// help runs the operation of a request that is to be waited for, if it is one that a goroutine
// of this process has not begun yet, and nothing ends the wait.
func (r Request) help(ctx context.Context) {
	if r.from == nil {
		return
	}
	if t := r.from.task.Load(); t != nil && ctx.Done() == nil {
		t.run()
	}
}

// Test tells whether the operation ended; if so it is as if Wait had been called (MPI_Test;
// MPI-4.1, 3.7.3).
func (r Request) Test() (Status, bool, error) {
	if r.from == nil {
		return emptyStatus, true, nil
	}
	c := r.from.comm
	call := c.enter(Call{Name: "MPI_Test", Comm: c, Peer: Undefined, Tag: Undefined})
	st, done, err := r.operation().Test()
	yieldUnless(done)
	return Status(st), done, c.leave(call, err)
}

// yieldUnless lets other goroutines run if a test was in vain. Programs test in loops, which
// else would keep those from a processor that they wait for.
func yieldUnless(done bool) {
	if !done {
		runtime.Gosched()
	}
}

// Peek is Test that leaves the request as it is (MPI_Request_get_status; MPI-4.1, 3.7.6).
func (r Request) Peek() (st Status, done bool, err error) {
	if r.from == nil {
		return emptyStatus, true, nil
	}
	defer r.from.comm.call("MPI_Request_get_status", &err)()
	got, done, err := r.operation().Peek()
	yieldUnless(done)
	return Status(got), done, err
}

// Cancel asks for the operation to end early (MPI_Cancel; MPI-4.1, 3.8.4). It has to be
// waited for all the same, and then Status.Cancelled says whether it was faster.
func (r Request) Cancel() (err error) {
	defer r.comm().call("MPI_Cancel", &err)()
	if r.from == nil {
		return errNullRequest
	}
	return r.operation().Cancel()
}

// Free lets go of the request: the operation goes on and ends unseen (MPI_Request_free;
// MPI-4.1, 3.7.3). The memory of a receive must not be looked at any more, as nobody can
// know when it has arrived.
func (r Request) Free() (err error) {
	defer r.comm().call("MPI_Request_free", &err)()
	if r.from == nil {
		return errNullRequest
	}
	if r.from.start == nil {
		return r.r.Free()
	}
	r.from.mu.Lock()
	defer r.from.mu.Unlock()
	if r.from.freed {
		return errclass.New(errclass.Request, "the persistent request has been freed already")
	}
	r.from.freed = true
	if r.from.round.IsNull() {
		return nil
	}
	if _, done, _ := r.from.round.Peek(); done {
		return nil
	}
	return r.from.round.Free()
}

var errNullRequest = errclass.New(errclass.Request, "the request is null: give one that a call has returned")
